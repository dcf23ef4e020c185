"""Dagster's definitions and services, and the command ``isthmus``.

``definitions``: The definitions that Dagster loads, for the flows of one file
``cli``: The command ``isthmus``: a module a verb, imported when the verb is called.
``dagster``: What Dagster shows and runs: assets, checks, jobs, schedules, sensors, alerts.
``demo``: The demo and the smoke run: clusters on this machine, events, faults, a verdict.
``failback``: A failback as an operator carries it out: clients return to a source that was lost.
``flows``: Flows as a person asks about them: observed, compared, paused. For command and Dagster.
``handover``: Takeover from MirrorMaker 2 and handback: what both sides show, the plan, its
    execution.
``recovery``: Failover and switchover as an operator carries them out: what they find, do and
    record.
``services``: What runs on this machine and its files: Dagster's services, Spark applications,
    ports.

May import: ``replication``. Nothing else imports dagster.
"""
