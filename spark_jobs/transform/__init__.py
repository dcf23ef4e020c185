"""Transforms the records of a flow's topics by Spark: SQL, functions, single message transforms.

``flow_transforms``: The transforms of one flow in its driver: starts, feeds and ends the run of
    each
``application_conf``: Spark's settings of an application: those of its flows' units, and of their
    transforms
``run``: Runs one transform of a flow in a thread of the driver: batch after batch, until it is
    stopped
``start_record``: Since when the present definition of a transform applies, and which positions go
    on from before
``point_record``: Which offsets of a transform's source and target belong together, noted once a
    minute
``slot_producers``: The producers of a transform's tasks: registered and fenced, with the positions
    to go on at
``transform_job``: The Spark job of one batch: one task per slot, which reports in one row what it
    did
``batch_clock``: How long the tasks of a batch have run, and how long it had none: one that waits is
    not slow
``sql_errors``: What Spark's errors say of an expression: the reason in a line, and whether data is
    its cause
``sql_plan``: A transform in Spark SQL as a DataFrame: expressions in, results for the writer out
``sql_text``: What the text of an expression says by itself: its parts, and the columns that it may
    name
``single_record``: What SQL makes of a single record, or why it fails on it: for reasons, and for
    previews
``preview``: Shows what a transform makes of real records: ``python -m spark_jobs.transform.preview
    REQUEST``
``task``: The tasks of a transform: each reads its ranges, transforms, and writes in one transaction
``columns``: Records as columns of Arrow and numpy, without a Python object a record

Why positions, records and dead letters are in one transaction: decision 0015.

May import: ``spark_jobs.process`` and ``replication``.
"""
