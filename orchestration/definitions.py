"""The definitions that Dagster loads, for the flows of one file.

The file is named by ISTHMUS_CONFIG, the state directory by ISTHMUS_HOME.
"""

from __future__ import annotations

import dagster as dg

from orchestration.dagster import jobs, schedules
from orchestration.dagster.alert_sensors import alert_on_checks, alert_on_failed_runs
from orchestration.dagster.assets import build_assets
from orchestration.dagster.checks import build_flow_checks
from orchestration.dagster.group_offset_assets import build_fresh_check
from orchestration.dagster.resources import IsthmusResource
from orchestration.dagster.sensors import supervisor
from orchestration.dagster.task_assets import build_task_assets
from orchestration.dagster.task_list import flow_tasks
from orchestration.flows.clusters import read_config
from orchestration.services.home import config_file, home


@dg.definitions
def defs() -> dg.Definitions:
    """Return all definitions. Raises ConfigError, which the UI shows."""
    path = config_file()
    config = read_config(path)
    rest = dg.Definitions(
        asset_checks=[
            *map(build_flow_checks, config.flows),
            *(build_fresh_check(each) for each in config.flows if each.groups.sync),
        ],
        jobs=jobs.ALL,
        schedules=schedules.ALL,
        sensors=[supervisor, alert_on_checks, alert_on_failed_runs],
        resources={"isthmus": IsthmusResource(config_path=str(path), home_path=str(home().root))},
    )
    return dg.Definitions.merge(build_assets(config), build_task_assets(flow_tasks(config)), rest)
