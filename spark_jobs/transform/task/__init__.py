"""The tasks of a transform: each reads its ranges, transforms, and writes in one transaction.

``work``: What a driver gives a task, and what the task reports: values
``batch_work``: The work of a batch on its way to its tasks
``tasks``: What the tasks do: read, transform and write, and commit once
``sql_tasks``: The two processes around Spark SQL: one reads, another one writes
``shared_records``: Records in memory that both have, so that they do not pass through the JVM
``sql_stream``: What comes from SQL: rows, and the records that they are of
``task_process``: The event loop and the connections of a process that runs tasks
``range_reader``: Reads a range of one source partition
``user_function``: A Python function over Arrow record batches: loaded, called, checked
``range_outcome``: What becomes of one range: records by partition, dead letters, the next anchor
``sql_results``: Takes what SQL made into the outcome of its range
``chain_results``: Takes what single message transforms make into it
``target_rows``: Puts results into topics and partitions
``target_writer``: Writes all that in one transaction

May import: ``columns`` and ``replication``.
"""
