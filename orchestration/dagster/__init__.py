"""What Dagster shows and runs: assets, checks, jobs, schedules, sensors, alerts.

``alert_sensors``: The sensor that sends alerts: incidents that begin or end, and runs that failed
``assets``: Keys of Dagster's assets, and the assets of one flow: its stream and its topics
``background_tasks``: The background tasks of a flow in Dagster: what each does, when it runs, and
    what drifts
``check_history``: The last finished result of an asset check, also while another run of it is under
    way
``check_results``: What the asset checks of a flow say of one look at it
``checks``: Asset checks of a flow: lag, RPO, health, losses, drills, verifications and others
``failed_runs``: Alerts about runs that failed: the 1st, 2nd, 4th, 8th … failure of a job in a row
``flow_jobs``: Jobs about one flow, chosen from a list: pause, restart, plan, sync, failover and
    others
``jobs``: Dagster jobs of the supervisor: start or stop an application, delete old runs
``lineage``: Lineage: source cluster, flow, topics, target cluster; through chains of flows
``observations``: Events for Dagster about topics, background tasks and clusters, and how often they
    are sent
``report_events``: Decides which events about a flow are written to Dagster's history, and how often
``report_metadata``: The figures of a report as metadata of Dagster: numbers that it plots, and
    tables
``reports``: The figures of one look at a flow, as checks, events and observations take them
``resources``: The Dagster resource that gives jobs, sensors and checks their flows, clients and
    launcher
``schedules``: Dagster schedules: old runs are deleted daily; batch flows, drills, verifications by
    the file
``sensors``: The supervisor sensor: reads all flows, reports on them, starts and stops applications

May import: ``orchestration.drill``, ``orchestration.failback``, ``orchestration.switchover``,
``orchestration.alerts``, ``orchestration.backfill``, ``orchestration.recovery``,
``orchestration.verification``, ``orchestration.flows``, ``orchestration.services``, ``replication``
and ``spark_jobs.verification.verification_job``. The last one in ``flow_jobs`` alone: decision
0018.
"""
