"""A sync is run when there is something to change; what a run did not change is drift."""

from __future__ import annotations

import dagster as dg
import pytest
from support.fakes.memory_admin import MemoryClients, MemoryCluster
from support.settings.configs import a_config, a_flow

from orchestration.dagster.background_tasks import drift
from orchestration.dagster.background_tasks.drift import SYNC_CHECK, Pending, decide
from orchestration.dagster.background_tasks.task_assets import task_key
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.background_tasks.task_schedules import build_task
from orchestration.dagster.resources import Isthmus
from replication.errors import ClusterUnavailable
from replication.settings.topic_settings import TopicCreation
from replication.state import Intent, status_topic

KEY = task_key("A->B", "topic_configs")
FLOW = a_flow().model_copy(update={"creation": TopicCreation(replication_factor=1)})
_STAGES: dict[str, tuple] = {}


class InMemory(Isthmus):
    """Clusters in memory; ``config_path`` names the stage."""

    def config(self):
        return _STAGES[self.config_path][0]

    def task_clients(self):
        return _STAGES[self.config_path][1]


@pytest.fixture
def instance(local_instance) -> dg.DagsterInstance:
    return local_instance  # on disk: a schedule's context opens the instance by itself


@pytest.fixture
def clients() -> MemoryClients:
    source = MemoryCluster({"orders": 1}, {"orders": {"retention.ms": "1"}})
    return MemoryClients({"A": source, "B": MemoryCluster({"A.orders": 1})})


@pytest.fixture
def isthmus(clients) -> InMemory:
    _STAGES[str(id(clients))] = a_config(FLOW), clients
    return InMemory(str(id(clients)), "/nowhere")


def task(name: str = "topic_configs"):
    return next(each for _, each in flow_tasks(a_config(FLOW)) if each.name == name)


def tick(isthmus, instance, name: str = "topic_configs"):
    (schedule,) = build_task(FLOW, task(name)).schedules
    with dg.build_schedule_context(instance=instance, resources={"isthmus": isthmus}) as context:
        found = schedule(context)
    return [found] if isinstance(found, dg.RunRequest) else found.skip_message


def checked(instance) -> tuple[bool, str]:
    record = instance.get_latest_asset_check_evaluation_record(dg.AssetCheckKey(KEY, SYNC_CHECK))
    return record.evaluation.passed, record.evaluation.description


def materialize(isthmus) -> None:
    found = build_task(FLOW, task())
    assert dg.materialize(list(found.assets), resources={"isthmus": isthmus}).success


def test_a_run_is_asked_for_when_there_is_something_to_change_and_then_none_is(isthmus, instance):
    assert len(tick(isthmus, instance)) == 1
    assert checked(instance)[0]
    assert checked(instance)[1].startswith("a run makes 1 changes: alter A.orders")
    materialize(isthmus)
    assert tick(isthmus, instance) == "nothing to change"
    assert checked(instance) == (True, "nothing to change")


def test_ticks_that_find_nothing_to_change_write_one_event_and_its_check_in_six_hours(
    isthmus, instance
):
    materialize(isthmus)
    for _ in range(5):
        assert tick(isthmus, instance) == "nothing to change"
    events = instance.fetch_materializations(KEY, limit=10).records
    assert [each.asset_materialization.metadata["summary"].value for each in events] == [
        "nothing to change"
    ]


def test_changes_that_a_run_did_not_make_turn_the_check_red(isthmus, instance):
    tick(isthmus, instance)
    assert len(tick(isthmus, instance)) == 1, "it is tried again"
    passed, reason = checked(instance)
    assert not passed
    assert reason.startswith(
        "1 changes pending after a run, see its log: alter A.orders: retention.ms"
    )
    materialize(isthmus)
    tick(isthmus, instance)
    assert checked(instance)[0]


def test_nothing_is_said_of_a_paused_flow_or_a_silent_cluster(isthmus, clients, instance):
    clients.store(FLOW).write(status_topic("A"), Intent("A->B", "pause"))
    assert tick(isthmus, instance) == "not planned: the desired state of the flow is pause"
    clients.store(FLOW).write(status_topic("A"), Intent("A->B", "run"))

    def silent(*_):
        raise ClusterUnavailable("B does not answer")

    clients.store = silent
    assert tick(isthmus, instance) == "not planned: B does not answer"
    key = dg.AssetCheckKey(KEY, SYNC_CHECK)
    assert instance.get_latest_asset_check_evaluation_record(key) is None


def test_a_plan_that_takes_longer_than_a_tick_may_is_left_to_a_run(isthmus, instance, monkeypatch):
    monkeypatch.setattr(drift, "LIMIT_S", 0.0)
    assert len(tick(isthmus, instance)) == 1


def test_a_task_that_cannot_be_planned_is_always_run(isthmus, instance):
    assert len(tick(isthmus, instance, "checkpoints")) == 1


@pytest.mark.parametrize(
    ("pending", "before", "passed", "runs"),
    [
        (Pending(), "x", True, False),
        (Pending(("x",)), None, True, True),
        (Pending(("x",)), "y", True, True),
        (Pending(("x",)), "x", False, True),
    ],
)
def test_a_difference_is_drift_if_it_outlives_a_run(pending, before, passed, runs):
    verdict = decide(pending, before)
    assert (verdict.passed, verdict.runs) == (passed, runs)


def test_what_is_not_known_is_no_verdict():
    assert decide(Pending(silence="B does not answer"), "x") is None
