"""Failover and switchover as an operator carries them out: what they find, do and record.

``failover``: Plans and carries out a failover: its steps on the flow's clusters
``flow_operation``: Steps that a failover and a switchover share, on a flow's clusters; each may run
    twice
``group_actions``: Says what a failover does with each position of a group on the target, and why
    some are left
``home_positions``: Where groups that read renamed copies continue in the originals, when clients
    come home
``operator``: Carries out the steps of an operation, one operator at a time, and records each
``readiness``: Says why a flow's clients cannot be moved to its target now
``report``: What a failover tells: recovery point and groups, as values and as JSON
``source_clients``: Who writes to a flow's source, and who reads there: asked before clients move to
    the target
``switchover``: Plans and carries out a switchover, and takes it back
``switchover_report``: What a switchover tells: what stands against it, the groups' positions, who
    still writes
``switchover_steps``: The steps of a switchover on the flow's clusters; each may run twice
``tail_comparison``: Compares the last records of each partition with their copies, before clients
    move to these
``target_cluster``: Makes sure that a target's address leads to the cluster that the flow copied to
``write_denial``: Denies everybody to write to topics of a source, and takes that back

May import: ``orchestration.flows``, ``orchestration.services``.
"""
