"""Assets, jobs and schedules of the background tasks of a flow."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pytest
from support.fakes.memory_admin import MemoryClients, MemoryCluster
from support.settings.configs import a_config, a_flow

from orchestration.dagster.background_tasks.task_assets import (
    FlowTask,
    TaskRunReport,
    perform,
    task_key,
)
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.background_tasks.task_schedules import build_task
from orchestration.dagster.resources import IsthmusResource
from replication.errors import ClusterUnavailable
from replication.model import Desired
from replication.settings.topic_settings import ConfigSync, TopicCreation
from replication.state import Intent, status_topic


class DutyPlant(IsthmusResource):
    """An IsthmusResource whose clusters are in memory."""

    def config(self):
        return _CONFIGS[self.config_path][0]

    def task_clients(self):
        return _CONFIGS[self.config_path][1]


_CONFIGS: dict[str, tuple] = {}


def an_isthmus(config, clients) -> DutyPlant:
    _CONFIGS[str(id(clients))] = config, clients
    return DutyPlant(config_path=str(id(clients)), home_path="/nowhere")


def stage(**configs: str):
    flow = a_flow().model_copy(update={"creation": TopicCreation(replication_factor=1)})
    source = MemoryCluster({"orders": 1}, {"orders": configs})
    target = MemoryCluster({"A.orders": 1})
    return a_config(flow), MemoryClients({"A": source, "B": target})


def run(config, clients, name: str = "topic_configs") -> dg.ExecuteInProcessResult:
    (made,) = (build_task(flow, task) for flow, task in flow_tasks(config) if task.name == name)
    return dg.materialize(
        list(made.assets or []),
        resources={"isthmus": an_isthmus(config, clients)},
        raise_on_error=False,
    )


def test_a_run_shows_the_plan_with_an_outcome_for_each_action():
    config, clients = stage(**{"retention.ms": "1"})
    result = run(config, clients)
    assert result.success
    (event,) = result.asset_materializations_for_node("replication__A_to_B__topic_configs")
    assert event.metadata["summary"].value == "1 changed"
    (row,) = event.metadata["plan"].records
    assert row.data == {
        "what": "alter A.orders: retention.ms: not set -> 1, as on A",
        "outcome": "done",
    }
    assert clients.clusters["B"].configs == {"A.orders": {"retention.ms": "1"}}


def test_a_run_fails_with_what_was_refused_and_shows_the_table():
    config, clients = stage(**{"retention.ms": "1", "cleanup.policy": "compact"})
    clients.clusters["B"].refuses.add(("cleanup.policy", "compact"))
    result = run(config, clients)
    assert not result.success
    (failed,) = (each for each in result.all_node_events if each.is_step_failure)
    failure = failed.step_failure_data.user_failure_data
    assert failure.description.startswith("A->B: cleanup.policy: altering configs of A.orders: ")
    assert failure.metadata["failed"].value == 1
    assert run(config, clients).success, "what was refused is not tried again"


def test_a_cluster_that_is_silent_fails_the_run_with_its_message():
    config, clients = stage()
    clients.clusters["A"].silent = True
    (failed,) = (each for each in run(config, clients).all_node_events if each.is_step_failure)
    assert failed.step_failure_data.user_failure_data.description == (
        "A->B: A->B: listing the topics at A:9092: no response in time"
    )


def test_a_paused_flow_changes_nothing():
    config, clients = stage(**{"retention.ms": "1"})
    clients.records.write(status_topic("A"), Intent("A->B", Desired.PAUSE))
    assert run(config, clients).success
    assert clients.clusters["B"].altered == []


@pytest.mark.parametrize(
    ("seconds", "enabled", "line", "runs"),
    [
        pytest.param(600, True, "*/10 * * * *", True, id="MirrorMaker 2's default"),
        pytest.param(10, True, "* * * * *", False, id="the driver's"),
        pytest.param(600, False, "*/10 * * * *", False, id="switched off"),
    ],
)
def test_a_task_is_scheduled_as_its_interval_says(seconds, enabled, line, runs):
    rules = ConfigSync(every=timedelta(seconds=seconds), enabled=enabled)
    config = a_config(a_flow().model_copy(update={"configs": rules}))
    (made,) = (
        build_task(flow, task) for flow, task in flow_tasks(config) if task.name == "topic_configs"
    )
    (schedule,) = made.schedules
    assert (schedule.cron_schedule, schedule.name) == (line, "topic_configs_A_to_B_schedule")
    assert (schedule.default_status is dg.DefaultScheduleStatus.RUNNING) is runs


def test_a_problem_is_reported_and_never_raised():
    def fail(*_: object) -> TaskRunReport:
        raise ClusterUnavailable("no answer")

    config, clients = stage()
    task = FlowTask("x", "", timedelta(minutes=1), fail)
    report = perform(task, config, config.flows[0], clients)
    assert report.failures == ("no answer",)


def test_tasks_belong_to_their_flow_in_the_ui():
    assert task_key("A->B", "acls") == dg.AssetKey(["replication", "A_to_B", "acls"])


@pytest.mark.parametrize("name", ["heartbeats", "checkpoints"])
def test_what_the_driver_does_whatever_the_interval_has_a_schedule_that_rests(name):
    (task,) = (task for _, task in flow_tasks(a_config(a_flow())) if task.name == name)
    (schedule,) = build_task(a_flow(), task).schedules
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert "The Spark driver does it every" in (schedule.description or "")
