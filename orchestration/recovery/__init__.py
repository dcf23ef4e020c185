"""Failover as an operator carries it out: what it finds, what it does, and its record.

``failover``: Plans and carries out a failover: its steps on the flow's clusters
``operator``: Carries out the steps of an operation, one operator at a time, and records each
``report``: What a failover tells: recovery point and groups, as values and as JSON

May import: ``orchestration.flows``.
"""
