"""What Dagster shows and runs: assets, checks, jobs, schedules, sensors, alerts.

``alert_sensors``: Sensors that alert: on failed runs and on checks whose result changed
``alerts``: Alerts to the log and to a webhook
``assets``: The assets that stand for clusters, flows and topics
``checks``: Checks on a flow's stream that a person can run; the supervisor answers them by itself
``group_offset_assets``: Group offsets in Dagster: the duty, with the plan of a round, and how
    fresh they are
``jobs``: Short jobs: start or stop an application, set a flow's desired state, delete old runs
``reports``: What Dagster's history is told about a flow, and how seldom
``resources``: What Dagster's jobs, sensors and checks are given: one plant, built from the
    environment
``schedules``: What happens by the clock and may wait for it; what may not lives in the Spark
    driver
``sensors``: The supervisor: look at all flows, decide, say what was seen, and ask for short runs
    that act
``task_assets``: What is done for a flow besides copying, by Dagster's clock: an asset, a job and
    a schedule each
``task_list``: The duties of a file's flows that Dagster shows and runs, in one place

May import: ``orchestration.flows``, ``orchestration.services``.
"""
