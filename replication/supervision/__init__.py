"""What is observed of flows.

And what follows: lag, health, losses, leases, which application to start.

``driver_lease``: Who may drive a flow: the driver whose :class:`FlowStatus` has the highest
    generation
``driver_supervision``: Which Spark applications are to be started, stopped or left alone
``flow_figures``: How fast a flow copies, from two looks at its counters
``health``: What to tell an operator about a flow: one state, one line, and whether it is as
    wanted
``heartbeat_check``: Whether a flow's heartbeats are as young as they should be
``lag``: How far a flow is behind its source, in records and in seconds, an answer a partition
``losses``: What was not copied, as people are told of it
``metric_catalogue``: All metrics: their names, what they mean, and by what they are told apart
``metric_samples``: Figures of flows as samples of the catalogue's metrics
``operator_decisions``: Partitions that wait for a person's answer, and what an answer is
``task_schedule``: How often a duty comes, and who sees to it
``unit_assignment``: Which unit copies which partition

May import: ``naming``, ``client`` and what is below them. Pure.
"""
