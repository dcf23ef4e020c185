"""What Dagster shows and runs: assets, checks, jobs, schedules, sensors, alerts.

``alert_sensors``: Dagster sensors that send alerts: on failed runs and on checks whose result
    changed
``alerts``: Sends alerts to the log and to a webhook; a failed post raises EnvironmentProblem
``assets``: Dagster assets of clusters, flows and topics
``checks``: Asset checks on a flow's stream: lag, health, losses and heartbeats, also run manually
``group_offset_assets``: The group offset sync in Dagster: its task, report and freshness check
``jobs``: Dagster jobs: start or stop an application, set a flow's desired state, fail over, switch
    over, delete runs
``recovery_jobs``: Dagster's jobs that move clients: the commands' steps, with the report as
    metadata
``reports``: Decides which events about a flow are written to Dagster's history, and how often
``resources``: The Dagster resource that gives jobs, sensors and checks their flows, clients and
    launcher
``schedules``: Dagster schedules of Isthmus' own upkeep: old runs are deleted daily
``sensors``: The supervisor sensor: reads all flows, reports on them, starts and stops
    applications
``task_assets``: Builds the asset, job and schedule of each background task of a flow
``task_list``: Lists the background tasks of a file's flows that Dagster shows and runs

May import: ``orchestration.flows``, ``orchestration.recovery``, ``orchestration.services``.
"""
