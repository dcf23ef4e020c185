"""Dagster's definitions and services, and the command ``isthmus``.

``definitions``: The definitions that Dagster loads, for the flows of one file
``alerts``: Alerts: what is reported of flows, when and to which channels, each thing once
``backfill``: Backfills of flows: planned, and carried out as bounded batch flows beside the streams
``cli``: The command ``isthmus``: one module per verb, imported when the verb is called
``dagster``: What Dagster shows and runs: assets, checks, jobs, schedules, sensors, alerts
``demo``: The demo and the smoke run: clusters on this machine, events, faults, a verdict
``diagnosis``: What would keep a file's flows from running well: findings, each with what to do
    about it
``drill``: A drill as an operator carries it out: failover and failback, practised with canary
    records
``failback``: A failback as an operator carries it out: clients return to a source that was lost
``flows``: What command and Dagster do with flows: observe, compare, pause, restart
``handover``: Takeover from MirrorMaker 2 and handback: what both sides show, the plan, its
    execution
``recovery``: A failover as an operator carries it out, and the steps and records that all
    procedures share
``report``: A page about a file's flows for people who do not run them: what ``isthmus report``
    writes
``services``: What runs on this machine and its files: Dagster's services, Spark applications, ports
``switchover``: A switchover as an operator carries it out: clients move while both clusters work
``verification``: Runs of ``isthmus verify``: Spark compares the ranges copied since the last good
    run

May import: ``replication`` and ``spark_jobs.verification.verification_job``. Nothing else imports
dagster. A run of Dagster is the driver of a verification, so that one module imports one of Spark's
side (decision 0018); all other Spark jobs are processes of their own.
"""
