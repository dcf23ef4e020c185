"""Runs one transform of a flow in a thread of the driver: batch after batch, until it is stopped.

``batch_plan``: Which ranges the next batch of a transform takes, by slot
``transform_placement``: Where the transform of a partition begins: at its anchor, at
    ``copy.start``, or not yet
``run_positions``: Where a transform is in each of its partitions, and which of them wait
``run_setting``: What a run needs of its driver: how it reaches clusters, and how it runs batches
``slot_batches``: Runs the batches of a transform, and learns from what the tasks of their slots
    report
``target_partitions``: How many partitions the topics have that a transform writes to
``transform_run``: Runs one transform of a flow in a thread of the driver: batch after batch, until
    it is stopped

May import: ``batch_clock``, ``slot_producers``, ``sql_errors``, ``task``, ``columns``,
``point_record``, ``start_record`` and ``replication``.
"""
