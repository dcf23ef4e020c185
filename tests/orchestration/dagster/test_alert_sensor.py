"""The alert sensor, tick by tick, against an instance in memory and a real HTTP server."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationPlanned,
)
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.test_utils import create_run_for_test
from support.fakes.fake_flows import FakeIsthmus, World
from support.network.webhook import Hook, a_hook
from support.settings.configs import a_config, a_flow

from orchestration.dagster import alert_sensors
from orchestration.dagster.alert_sensors import alert_on_checks
from orchestration.dagster.assets import stream_key
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.background_tasks.task_schedules import build_task
from orchestration.dagster.failed_runs import failures_in_a_row, is_worth_an_alert
from orchestration.dagster.jobs import APPLICATION_TAG, FLOW_TAG, PARTITION_TAG
from orchestration.flows.observation import flow_reader
from orchestration.services.asset_names import slug
from replication.clock import now_ms
from replication.model import Desired
from replication.state import Intent, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@pytest.fixture
def hook() -> Iterator[Hook]:
    with a_hook() as found:
        yield found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


class Sensor:
    """The sensor over a world whose flow copies, on a clock that tests move."""

    def __init__(self, instance, hook, monkeypatch, *flows, urls=()) -> None:
        self.world = World(a_config(*flows, webhook_url=hook.url, alert_urls=urls))
        self.world.watched = self.world.driven = {"B"}
        self.instance, self.hook, self.cursor = instance, hook, None
        self.later_ms = 0
        monkeypatch.setattr(
            alert_sensors, "now_ms", lambda: int(time.time() * 1000) + self.later_ms
        )
        begun_ms = now_ms()
        # A driver beats on while a test ticks, however long that takes: see the world's copy().
        monkeypatch.setattr(flow_reader, "now_ms", lambda: begun_ms)

    def tick(self, after_s: float = 0) -> str:
        """Tick; return what the sensor's page says."""
        self.later_ms += int(after_s * 1000)
        with dg.build_sensor_context(
            instance=self.instance,
            resources={"isthmus": FakeIsthmus.of(self.world)},
            cursor=self.cursor,
        ) as context:
            result = alert_on_checks(context)
        self.cursor = result.cursor
        return result.skip_reason.skip_message

    def evaluate(self, *, passed: bool, check: str = "lag_sla") -> None:
        self.instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(stream_key("A->B"), check, passed, description="as told")
        )

    def intend(self, desired: Desired, ago_s: float = 0) -> None:
        at_ms = int((time.time() - ago_s) * 1000)
        self.world.target.write(status_topic("A"), Intent("A->B", desired, "ann", at_ms))

    @property
    def output(self) -> list[str]:
        return [each["text"].partition("\n")[0] for each in self.hook.got]


@pytest.fixture
def sensor(instance, hook, monkeypatch) -> Sensor:
    return Sensor(instance, hook, monkeypatch)


def test_what_failed_is_told_also_while_somebody_runs_the_check(sensor, instance):
    sensor.world.copy(records=5, end=9)
    sensor.evaluate(passed=False)
    plan = AssetCheckEvaluationPlanned(asset_key=stream_key("A->B"), check_name="lag_sla")
    run = create_run_for_test(instance, job_name="checks")
    event = DagsterEvent(
        DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED.value,
        "checks",
        event_specific_data=plan,
    )
    instance.report_dagster_event(event, run.run_id)
    sensor.tick()
    assert sensor.output == ["A->B is RUNNING (lag_sla failed)"]


def test_a_breach_is_told_once_and_its_end_once(sensor):
    sensor.world.copy(records=5, end=9)
    for passed in (True, False, False, True, True, True):
        sensor.evaluate(passed=passed)
        sensor.tick(20)
    assert sensor.output == ["A->B is RUNNING (lag_sla failed)", "A->B: resolved"]
    assert sensor.hook.got[0]["at_risk"] == ["orders-0 [5, 9)"]


def test_an_url_that_is_of_no_use_keeps_no_other_channel_from_the_alert(
    instance, hook, monkeypatch
):
    sensor = Sensor(instance, hook, monkeypatch, urls=("jsn://hush",))
    sensor.world.copy(records=5, end=9)
    sensor.evaluate(passed=False)
    for _ in range(3):
        assert "alert.urls: URL 1 of 1 begins with jsn://" in sensor.tick(600)
    assert sensor.output == ["A->B is RUNNING (lag_sla failed)"]


def test_a_verification_that_is_due_is_told_until_its_limit_is_taken_out_of_the_file(
    instance, hook, monkeypatch
):
    limited = a_flow().model_copy(update={"verify_max_age": timedelta(days=7)})
    sensor = Sensor(instance, hook, monkeypatch, limited)
    sensor.world.copy(records=5, end=5)
    sensor.evaluate(passed=False, check="verified_age")
    sensor.tick()
    assert sensor.output == ["A->B is RUNNING (verified_age failed)"]
    sensor.world.config = a_config(webhook_url=hook.url)
    for _ in range(4):
        sensor.tick(20)
    assert sensor.output == ["A->B is RUNNING (verified_age failed)", "A->B: resolved"]


def test_a_first_start_posts_nothing(sensor):
    """No driver has reported yet, then one starts, then runs."""
    sensor.world.watched = sensor.world.driven = set()
    sensor.evaluate(passed=False, check="healthy")
    sensor.tick()
    sensor.world.watched = sensor.world.driven = {"B"}
    sensor.world.copy(records=0, end=5, state="STARTING")
    sensor.tick(60)
    sensor.world.copy(records=5, end=5)
    sensor.evaluate(passed=True, check="healthy")
    sensor.tick(30)
    assert sensor.output == []


def test_stop_and_resume_and_a_pause_post_nothing(sensor):
    sensor.world.copy(records=5, end=5)
    sensor.tick()
    sensor.intend(Desired.STOP)
    sensor.evaluate(passed=False)
    sensor.world.watched = sensor.world.driven = set()
    sensor.world.copy(records=5, end=99, state="STOPPED", age_s=30)
    sensor.tick(60)
    sensor.intend(Desired.RUN)
    sensor.tick(10)
    sensor.world.watched = sensor.world.driven = {"B"}
    sensor.world.copy(records=9, end=99)
    sensor.intend(Desired.PAUSE)
    sensor.tick(300)
    assert sensor.output == []


def test_a_pause_ends_what_was_told_and_says_who_paused(sensor):
    sensor.world.copy(records=5, end=9)
    sensor.evaluate(passed=False)
    sensor.tick()
    sensor.intend(Desired.PAUSE)
    sensor.world.copy(records=5, end=9, state="PAUSED")
    sensor.tick(10)
    sensor.tick(20)
    assert sensor.output == ["A->B is RUNNING (lag_sla failed)", "A->B: resolved"]
    assert "paused by ann" in sensor.hook.got[1]["text"]


def test_a_dead_cluster_is_one_alert_for_all_flows(instance, hook, monkeypatch):
    sensor = Sensor(instance, hook, monkeypatch, *(a_flow(f"A{n}", "B") for n in range(20)))
    sensor.world.target.silent = True
    sensor.tick()
    assert sensor.output == [], "it may answer soon"
    sensor.tick(40)
    assert sensor.output == ["cluster B is UNREACHABLE (healthy failed)"]
    assert len(hook.got[0]["flows"]) == 20
    assert hook.got[0]["runbook"] == "docs/runbooks.md#a-cluster-does-not-answer"


def test_a_dead_driver_is_told_if_nobody_starts_it(sensor):
    sensor.world.copy(records=5, end=9, age_s=60)
    sensor.world.watched = sensor.world.driven = set()
    sensor.tick()
    sensor.tick(40)
    assert sensor.output == ["driver of B is DEAD (healthy failed)"]


def test_a_broken_file_is_told_with_line_and_fix(sensor):
    sensor.world.copy(records=5, end=5)
    sensor.world.problem = "f.properties:3: topcs: unknown key → was topics meant?"
    sensor.tick()
    (alert,) = sensor.hook.got
    assert sensor.world.problem in alert["text"]
    assert alert["flows"] == ["A->B"]
    sensor.world.problem = ""
    sensor.tick()
    sensor.tick(20)
    assert sensor.output[1] == "the configuration file: resolved"


def test_a_post_that_fails_is_said_and_made_again(sensor, hook):
    sensor.world.copy(records=5, end=9)
    sensor.evaluate(passed=False)
    hook.answer = 500
    assert "the server answered HTTP 500" in sensor.tick()
    hook.answer = 200
    assert sensor.tick() == "A->B is RUNNING"
    sensor.tick(15)
    assert len(hook.got) == 1


def test_a_cursor_of_an_older_release_is_empty(sensor):
    sensor.world.copy(records=5, end=5)
    sensor.cursor = json.dumps({"A->B lag_sla": True})
    assert sensor.tick() == "nothing is wrong"


def fail(
    instance: dg.DagsterInstance,
    reason: str,
    name: str = "launching",
    tags: Mapping[str, str] = MappingProxyType({APPLICATION_TAG: "B"}),
) -> None:
    @dg.op
    def breaks() -> None:
        raise dg.Failure(reason)

    graph = dg.GraphDefinition(name, node_defs=[breaks])
    job = graph.to_job(tags=tags)
    job.execute_in_process(instance=instance, raise_on_error=False)


def test_a_failed_launch_alerts_with_the_application_and_the_reason(sensor, instance):
    sensor.world.copy(records=5, end=5)
    fail(instance, "before the sensor began")
    sensor.later_ms = 1000
    sensor.tick()
    time.sleep(1.1)
    fail(instance, "the driver cannot reach A")
    sensor.tick()
    sensor.tick()
    (alert,) = sensor.hook.got
    assert (alert["kind"], alert["subject"]) == ("run_failed", "B")
    assert alert["text"].startswith("launching for B failed (2 times in a row)\n")
    assert "reason: the driver cannot reach A\n" in alert["text"]
    assert "Traceback" not in alert["text"]


def test_a_run_that_failed_before_the_clock_was_set_back_keeps_no_later_one_from_its_alert(
    sensor, instance
):
    sensor.world.copy(records=5, end=5)
    sensor.later_ms = 7_200_000  # the sensor's first look
    sensor.tick()
    sensor.later_ms = 0
    sensor.tick()
    time.sleep(1.1)
    fail(instance, "the driver cannot reach A")
    sensor.tick()
    sensor.tick()
    assert sensor.output == ["launching for B failed"]


def test_a_failed_run_of_a_flow_whose_cluster_is_silent_is_not_told(sensor, instance):
    sensor.world.copy(records=5, end=5)
    sensor.tick()
    sensor.world.target.silent = True
    fail(instance, "B did not answer")
    sensor.tick()
    assert sensor.output == []


def test_a_silent_cluster_hides_no_failed_task_of_a_flow_whose_name_ends_like_its_own(
    instance, hook, monkeypatch
):
    flow = a_flow("west", "B")
    sensor = Sensor(instance, hook, monkeypatch, flow)
    sensor.tick()
    sensor.world.target.silent = True
    task = next(
        each for _, one in flow_tasks(a_config(flow)) for each in build_task(flow, one).jobs
    )
    assert task.tags[FLOW_TAG] == slug("west->B")
    fail(instance, "refused", "sync_west_to_B", task.tags)
    fail(instance, "refused", "sync_north_west_to_B", {FLOW_TAG: slug("north_west->B")})
    sensor.tick()
    assert sensor.output == ["sync_north_west_to_B for sync_north_west_to_B failed"]


def test_each_flow_of_a_job_has_an_alert_of_its_own_that_names_it(sensor, instance):
    sensor.world.copy(records=5, end=5)
    sensor.tick()
    for flow in ("A->B", "C->B", "D->B"):
        fail(instance, "it differs", "verify", {PARTITION_TAG: flow})
    sensor.tick()
    assert sensor.output == [f"verify for {each}->B failed" for each in "ACD"]


def test_failures_are_counted_back_to_the_last_success(instance):
    statuses = [dg.DagsterRunStatus.FAILURE] * 2
    statuses += [dg.DagsterRunStatus.SUCCESS] + [dg.DagsterRunStatus.FAILURE] * 3
    runs = [
        create_run_for_test(instance, job_name="j", status=each, tags={APPLICATION_TAG: "B"})
        for each in statuses
    ]
    create_run_for_test(
        instance, job_name="j", status=dg.DagsterRunStatus.FAILURE, tags={APPLICATION_TAG: "C"}
    )
    counted = [failures_in_a_row(instance, run) for run in runs]
    assert counted == [1, 2, 1, 1, 2, 3]


def test_a_loop_of_failures_alerts_ever_more_seldom():
    assert [n for n in range(40) if is_worth_an_alert(n)] == [1, 2, 4, 8, 16, 32]
