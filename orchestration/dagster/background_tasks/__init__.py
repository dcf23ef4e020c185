"""The background tasks of a flow in Dagster: what each does, when it runs, and what drifts.

``drift``: Runs a sync only when there is something to change, and says when a copy differs for good
``group_offset_assets``: The group offset sync in Dagster: its task, report and freshness check
``task_assets``: The background tasks of a flow as assets: what each is, and what became of it
``task_list``: Lists the background tasks of a file's flows that Dagster shows and runs
``task_schedules``: Builds asset, job, schedule and check of each background task of a flow

May import: ``assets``, ``check_history``, ``jobs``, ``resources``, ``orchestration.flows``,
``orchestration.services`` and ``replication``.
"""
