"""Failover as an operator carries it out: what it finds, what it does, and its record.

``failover``: Plans and carries out a failover: its steps on the flow's clusters
``group_actions``: Says what a failover does with each position of a group on the target, and why
    some are left
``operator``: Carries out the steps of an operation, one operator at a time, and records each
``report``: What a failover tells: recovery point and groups, as values and as JSON
``target_cluster``: Makes sure that a target's address leads to the cluster that the flow copied to

May import: ``orchestration.flows``.
"""
