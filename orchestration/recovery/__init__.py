"""A failover as an operator carries it out, and the steps and records that all procedures share.

Switchover, failback and drill have rooms of their own.

``copy_completion``: Waits until a flow has copied what its source holds
``failover``: Plans and carries out a failover: groups that cannot be set are left and named
``failover_report``: What a failover tells: recovery point and groups, as values and as JSON
``flow_operation``: Steps that a failover and a switchover share, on a flow's clusters; each may run
    twice
``group_actions``: Says what a failover does with each position of a group on the target, and why
    some are left
``left_groups``: Groups that a step left, in the operation's record: whoever ends the operation
    tells them
``opened_operation``: Connects an operation on a flow with the clusters, and closes the connections
    after it
``operator``: Carries out the steps of an operation for one operator, a person, at a time, and
    records each
``step_retry``: Carries a step out again while a cluster does not answer for a moment
``target_cluster``: Makes sure that a target's address leads to the cluster that the flow copied to
``unwritten_target``: Finds that no client wrote to a target behind what a flow copied: then it may
    be closed again

May import: ``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
