"""The tasks of a transform: each reads its ranges, transforms, and writes in one transaction.

``work``: What a driver gives a transform's task, and what the task reports: values
``batch_work``: The work of a batch on its way to its tasks: a local property of Spark's job
``tasks``: What a transform's tasks do: read, transform and write; for SQL see ``sql_tasks``
``sql_tasks``: The two processes around Spark SQL: one reads records for it, another one writes what
    it made
``shared_records``: Records in memory that the two processes of a task share: they do not pass
    through the JVM
``sql_stream``: What comes from SQL, chunk by chunk: the rows, and the records that they are of
``task_process``: The event loop and the connections of a process that runs tasks of transforms,
    kept for later
``range_reader``: Reads a range of one source partition, without aborted records and without copies
    of the target
``user_function``: A Python function of the operator's own over Arrow record batches: loaded,
    called, checked
``range_outcome``: What becomes of one range: records by their target partition, dead letters, and
    the next anchor
``sql_results``: Adds the rows that SQL returned to the outcome, each with its topic and its
    partition
``chain_results``: Adds the records that single message transforms returned to the outcome of their
    range
``target_rows``: Puts results, as columns, into topics and partitions of the target, in order
``target_writer``: Writes what a task made of its ranges: records, dead letters and anchors in one
    transaction

May import: ``columns`` and ``replication``.
"""
