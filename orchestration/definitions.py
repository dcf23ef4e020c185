"""The definitions that Dagster loads, for the flows of one file.

The file is named by ISTHMUS_CONFIG, the state directory by ISTHMUS_HOME.
"""

from __future__ import annotations

import importlib

import dagster as dg

from orchestration.dagster import jobs
from orchestration.dagster.alert_sensors import alert_on_checks
from orchestration.dagster.background_tasks.group_offset_assets import build_fresh_check
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.background_tasks.task_schedules import build_task_definitions
from orchestration.dagster.checks import build_flow_checks, build_topic_checks
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.spark_in_run import lazy_spark
from orchestration.dagster.lineage import build_assets
from orchestration.dagster.observations.cluster_sensor import (
    build_cluster_check,
    observe_clusters,
)
from orchestration.dagster.resources import Isthmus, followed_file, without_config
from orchestration.dagster.schedules import build_schedules
from orchestration.dagster.sensors import supervisor
from orchestration.services.state_directory import config_file, state_directory
from replication.errors import ConfigError


@dg.definitions
def defs() -> dg.Definitions:
    """Return all definitions, by the settings in force. Raises ConfigError, which the UI shows."""
    path = config_file()
    config = followed_file(path, state_directory().root).look().config
    in_flow_jobs = flow_jobs(
        [each.name for each in config.flows], [each.name for each in config.flows if each.is_batch]
    )
    rest = dg.Definitions(
        asset_checks=[
            *map(build_flow_checks, config.flows),
            *(check for each in config.flows for check in build_topic_checks(config, each)),
            *map(build_cluster_check, config.clusters.values()),
            *(build_fresh_check(each) for each in config.flows if each.groups.sync),
        ],
        jobs=[*jobs.ALL, *in_flow_jobs.values()],
        schedules=build_schedules(config, in_flow_jobs),
        sensors=[supervisor, observe_clusters, alert_on_checks],
        resources={
            "isthmus": without_config(Isthmus(str(path), str(state_directory().root))),
            "isthmus_spark": lazy_spark(),
        },
    )
    own = [loaded(each) for each in config.dagster.definitions]
    tasks = build_task_definitions(flow_tasks(config))
    return dg.Definitions.merge(build_assets(config), tasks, rest, *own)


def loaded(module: str) -> dg.Definitions:
    """Return the definitions of a module of ``dagster.definitions``. Raises ConfigError."""
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"dagster.definitions: {module} cannot be loaded: {error}") from None
    for each in vars(found).values():
        if isinstance(each, dg.Definitions):
            return each
    raise ConfigError(f"dagster.definitions: {module} has no dagster.Definitions")
