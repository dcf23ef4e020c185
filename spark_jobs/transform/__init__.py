"""Transforms the records of a flow's topics by Spark: SQL, functions, single message transforms.

``flow_transforms``: The transforms of one flow in its driver: starts, feeds and ends each run
``application_conf``: Spark's settings of an application with its transforms
``run``: Runs one transform in a thread of the driver, batch after batch: a room of its own
``start_record``: Since when a transform works as it works now
``point_record``: Which offsets of both sides belong together, noted once a minute
``slot_producers``: The producers of its tasks, their fence, and the positions that it continues at
``spark_job``: The Spark job of one batch: a task a slot
``sql_plan``: A transform in Spark SQL as a DataFrame
``sql_text``: The columns that the text of an expression may name
``single_record``: What SQL makes of a single record, or why it fails on it
``preview``: Shows what a transform makes of real records: ``python -m
    spark_jobs.transform.preview REQUEST``
``task``: What the tasks do, and what they exchange with the driver
``columns``: Records as columns of Arrow and numpy

Why positions, records and dead letters are in one transaction: decision 0015.

May import: ``source``, ``process`` and ``replication``.
"""
