"""What is observed of flows and what follows: lag, health, losses, leases, restarts. Pure.

``batch_run``: What a run of a batch flow still has to copy, and how it ended
``driver_lease``: Which of two drivers may run a flow: the one whose status has the highest
    generation
``driver_supervision``: Decide when a Spark application is started, restarted or stopped, and when a
    silent one is dead
``flow_figures``: A flow's throughput, computed from two readings of its counters
``health``: The health of a flow: its driver's state, corrected by what anchors show, and one line
    on it
``heartbeat_check``: Whether a flow's heartbeats are recent enough
``lag``: How far a flow is behind its source, in records and seconds, and whether that keeps its SLA
``metric_catalogue``: All metrics: names, descriptions and labels
``metric_samples``: Converts figures of flows to samples of the catalogue's metrics
``operator_decisions``: What waits for an operator's decision, and the decisions that each allows
``partition_states``: The states and losses of partitions as operators see them, the same in every
    view
``recovery_point``: What the loss of a flow's source would cost (RPO), and whether that keeps its
    limit
``settings_check``: Decide whether a flow's driver follows the file as it is now
``task_schedule``: How often a background task runs, and whether Dagster or the driver runs it

May import: ``naming`` and what is below ``naming``. Pure.
"""
