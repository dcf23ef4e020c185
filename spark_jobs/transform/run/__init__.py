"""Runs one transform of a flow in a thread of the driver: batch after batch, until it is stopped.

``batch_plan``: Which ranges the next batch of a transform takes, by slot
``placement``: Where a transform of a partition begins: at its anchor, at ``copy.start``, or not yet
``run_positions``: Where a transform is in each of its partitions, and which of them wait
``run_setting``: What a run needs of its driver
``slot_batches``: Runs batches, and learns from what the tasks of their slots report
``target_partitions``: How many partitions the topics have that a transform writes to
``transform_run``: Runs one transform, from its start to its stop

May import: ``spark_jobs.transform``, its room ``task``, and what ``spark_jobs.transform`` may.
"""
