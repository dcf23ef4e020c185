"""The supervisor, tick by tick, against a Dagster instance in memory."""

from __future__ import annotations

import json
import socket
import time
import warnings
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.test_utils import create_run_for_test
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.config_files import TWO, written
from support.settings.configs import a_config, a_flow

from orchestration.dagster import sensors
from orchestration.dagster.assets import stream_key
from orchestration.dagster.check_results import CHECKS
from orchestration.dagster.lineage import build_assets
from orchestration.dagster.sensors import APPLICATION_TAG, supervisor
from replication.clock import now_ms
from replication.settings.mm2_settings import GroupSettings
from replication.state import (
    AbsentTopic,
    Anchor,
    BatchRun,
    Drill,
    GroupPositions,
    Intent,
    Loss,
    Operation,
    TaskReport,
    Verification,
    anchors_topic,
    offsets_topic,
    status_topic,
)
from replication.supervision.heartbeat_check import HEARTBEATS_TASK

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture
def world() -> World:
    return World(a_config())


def tick(world: World, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
    resources = {"isthmus": FakeIsthmus.of(world)}
    with dg.build_sensor_context(instance=instance, resources=resources, cursor=cursor) as context:
        result = supervisor(context)
    for event in result.asset_events:  # as the daemon does; it refuses what cannot be stored
        instance.report_runless_asset_event(event)
    return result


def events(result: dg.SensorResult) -> list:
    """Return the events about the stream of A->B."""
    return [each for each in result.asset_events if each.asset_key == stream_key("A->B")]


def kinds(result: dg.SensorResult) -> list[str]:
    return [type(each).__name__ for each in events(result)]


def test_an_application_of_which_no_driver_has_reported_is_asked_for(world, instance):
    (request,) = tick(world, instance).run_requests
    assert request.job_name == "launch_flow"
    assert request.run_config == {
        "ops": {"launch": {"config": {"application": "B", "restart": False}}}
    }
    assert request.tags == {
        APPLICATION_TAG: "B",
        "replication/reason": "no_driver_has_reported_yet",
    }


def test_a_launch_that_is_under_way_is_not_asked_for_again(world, instance):
    create_run_for_test(instance, status=dg.DagsterRunStatus.STARTED, tags={APPLICATION_TAG: "B"})
    result = tick(world, instance)
    assert not result.run_requests
    assert result.skip_reason.skip_message == (
        "A->B STARTING: no driver has reported yet (`isthmus run FILE` starts one); "
        "application B: a driver is being launched"
    )


@pytest.mark.parametrize("status", list(sensors.ACTS_WITHIN_S), ids=str)
def test_bl_126_bl_134_bl_135_a_run_whose_process_is_gone_makes_room_for_another(
    world, instance, monkeypatch, status
):
    monkeypatch.setitem(sensors.ACTS_WITHIN_S, status, -1.0)
    dead = create_run_for_test(instance, status=status, tags={APPLICATION_TAG: "B"})
    world.acted_on = {"B"}
    held_up = tick(world, instance)
    assert not held_up.run_requests
    world.acted_on = set()
    (request,) = tick(world, instance, held_up.cursor).run_requests
    assert request.job_name == "launch_flow"
    assert instance.get_run_by_id(dead.run_id).status == dg.DagsterRunStatus.FAILURE


def test_a_run_that_has_acted_is_given_time_to_say_that_it_has_ended(world, instance, monkeypatch):
    monkeypatch.setitem(
        sensors.ACTS_WITHIN_S, dg.DagsterRunStatus.STARTED, -1.0
    )  # as if begun long ago
    run = create_run_for_test(
        instance, status=dg.DagsterRunStatus.STARTED, tags={APPLICATION_TAG: "B"}
    )
    world.acted_until = time.time() + 600  # as if it had ended to act a moment ago
    assert not tick(world, instance).run_requests
    assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.STARTED


def test_a_run_that_ends_while_it_is_looked_at_is_no_failure(world, instance, monkeypatch):
    monkeypatch.setitem(sensors.ACTS_WITHIN_S, dg.DagsterRunStatus.STARTED, -1.0)
    run = create_run_for_test(
        instance, status=dg.DagsterRunStatus.STARTED, tags={APPLICATION_TAG: "B"}
    )

    def ends(_: object) -> bool:
        ended = DagsterEvent(DagsterEventType.RUN_SUCCESS.value, run.job_name)
        instance.report_dagster_event(ended, run.run_id)
        return False

    monkeypatch.setattr(world, "is_acted_on", ends)
    tick(world, instance)
    assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.SUCCESS


def test_a_tick_that_died_before_its_cursor_was_saved_asks_for_the_same_run(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(10, 10)
    cursor = tick(world, instance).cursor
    world.watched = world.driven = set()
    world.copy(10, 10, host=socket.gethostname())
    first, again = (tick(world, instance, cursor).run_requests for _ in range(2))
    assert first[0].run_key == again[0].run_key


def test_a_silent_target_starts_nothing_and_says_so(world, instance):
    world.target.silent = True
    result = tick(world, instance)
    assert not result.run_requests
    silence = "target cluster B did not answer (reading state at B:9092: connection refused)"
    assert result.skip_reason.skip_message == (
        f"A->B UNKNOWN: {silence}; application B: {silence}; "
        "another host may be copying, so no driver is launched"
    )


def test_a_flow_that_is_up_is_reported_once_and_then_only_when_it_changes(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    first = tick(world, instance)
    assert kinds(first) == [
        "AssetObservation",
        "AssetMaterialization",
        *["AssetCheckEvaluation"] * len(CHECKS),
    ]
    world.copy(records=150, end=150)
    second = tick(world, instance, first.cursor)
    assert kinds(second) == []
    assert second.skip_reason.skip_message.startswith("A->B RUNNING 0.0 s behind")


def test_a_loss_makes_its_check_red_at_once(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    first = tick(world, instance)
    loss = Loss("A->B", "orders", 0, "", 3, "LOST_RANGE", 9, "gone", now_ms())
    world.target.write(anchors_topic("A"), loss)
    (event,) = events(tick(world, instance, first.cursor))
    assert (event.check_name, event.passed) == ("nothing_lost", False)
    assert "orders-0 offsets [3, 9) LOST_RANGE: gone" in event.description


def test_a_topic_deleted_at_the_source_is_observed_at_once_and_makes_the_flow_unhealthy(
    world, instance
):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    first = tick(world, instance)
    why = "the source topic was deleted; the copy A.orders is kept"
    world.target.write(
        status_topic("A"), AbsentTopic("A->B", "orders", "SOURCE_DELETED", why, now_ms())
    )
    world.copy(records=100, end=100, state="DEGRADED", reason="deleted at the source: orders")
    observed, check = events(tick(world, instance, first.cursor))
    output = observed.metadata["topics not copied any more"].text
    assert output == f"orders SOURCE_DELETED: {why}"
    (row,) = observed.metadata["topics"].records
    assert (row.data["topic"], row.data["state"], row.data["lag"]) == (
        "orders",
        "SOURCE_DELETED",
        None,
    )
    assert (check.check_name, check.passed) == ("healthy", False)
    assert check.description == "DEGRADED: deleted at the source: orders"


def test_a_topic_that_goes_while_the_flow_stays_well_is_observed_too(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    world.target.write(
        anchors_topic("A"), Anchor("A->B", "stock", 0, "A.stock", 1, 1, state="RUNNING")
    )
    first = tick(world, instance)
    world.target.write(
        status_topic("A"), AbsentTopic("A->B", "orders", "NOT_SELECTED", "by the file", now_ms())
    )
    second = tick(world, instance, first.cursor)
    assert kinds(second) == ["AssetObservation"]
    cursor = second.cursor
    assert kinds(tick(world, instance, cursor)) == []


def test_heartbeats_that_stop_make_their_check_red_at_once(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    beat = TaskReport("A->B", HEARTBEATS_TASK, now_ms())
    world.target.write(status_topic("A"), beat)
    first = tick(world, instance)
    world.target.write(status_topic("A"), replace(beat, ok=False, summary="no leader"))
    (event,) = events(tick(world, instance, first.cursor))
    assert (event.check_name, event.passed) == ("heartbeat_age", False)
    assert "no leader" in event.description


def test_heartbeats_from_before_a_pause_make_no_check_red(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100, started_ms=1)
    world.target.write(status_topic("A"), TaskReport("A->B", HEARTBEATS_TASK, now_ms() - 900_000))
    world.target.write(status_topic("A"), Intent("A->B", "run", at_ms=now_ms()))
    resumed = tick(world, instance)
    assert json.loads(resumed.cursor)["told"]["A->B"]["beating"]
    world.target.write(status_topic("A"), Intent("A->B", "run", at_ms=now_ms() - 900_000))
    still = tick(world, instance, resumed.cursor)
    assert not json.loads(still.cursor)["told"]["A->B"]["beating"]
    world.copy(records=100, end=100, started_ms=1, state="PAUSED")
    assert json.loads(tick(world, instance).cursor)["told"]["A->B"]["beating"]


def test_a_flow_that_is_up_to_date_is_materialized_though_it_is_idle(world, instance):
    world.watched = world.driven = {"B"}
    world.copy(records=0, end=0)
    assert "AssetMaterialization" in kinds(tick(world, instance))


def test_an_idle_flow_that_is_late_is_not_materialized(world, instance):
    world.config = a_config(a_flow(sla_s=5))
    world.watched = world.driven = {"B"}
    world.copy(records=0, end=7, age_s=9)
    assert "AssetMaterialization" not in kinds(tick(world, instance))


def test_what_an_earlier_driver_copied_does_not_materialize_a_dead_flow(world, instance):
    world.watched = world.driven = set()
    world.copy(records=10, end=20, host=socket.gethostname(), pid=0)
    assert "AssetMaterialization" not in kinds(tick(world, instance))


def test_a_flow_that_falls_behind_fails_its_check_at_once(world, instance):
    world.config = a_config(a_flow(sla_s=5))
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    before = tick(world, instance)
    world.watch = type(world.watch)()  # as after a restart of the code server
    world.copy(records=100, end=170, age_s=9)
    (event,) = events(tick(world, instance, before.cursor))
    assert (event.asset_key, event.check_name, event.passed) == (
        stream_key("A->B"),
        "lag_sla",
        False,
    )
    assert event.description == (
        "1 of 1 partitions are more than 5 s behind; worst: orders-0, 9 s, 70 records"
    )


def test_a_flow_that_could_lose_older_records_than_its_objective_fails_its_check_at_once(
    world, instance
):
    flow = a_flow().model_copy(update={"rpo_slo": timedelta(seconds=5)})
    world.config = a_config(flow)
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    before = tick(world, instance)
    world.watch = type(world.watch)()
    world.copy(records=100, end=170, age_s=9)
    (event,) = events(tick(world, instance, before.cursor))
    assert (event.check_name, event.passed) == ("rpo_slo", False)
    assert event.description == (
        "a failover would lose records that are older than 5 s in 1 of 1 partitions; worst: "
        "orders-0, 9 s, 70 records"
    )
    output = {key: each.value for key, each in event.metadata.items()}
    assert (output["RPO in records"], output["RPO in bytes"]) == (70, 0)
    assert output["RPO in seconds"] >= 9
    assert "RPO" not in output


def test_a_flow_whose_target_is_open_after_a_failover_can_lose_nothing_more(world, instance):
    world.config = a_config(a_flow().model_copy(update={"rpo_slo": timedelta(seconds=5)}))
    world.copy(records=100, end=170, age_s=9)
    world.origin.silent = True
    failed_over = Operation("A->B", "op1", "failover", "done", by="ada@one", turn=1, writable="B")
    world.target.write(status_topic("A"), failed_over, Intent("A->B", "stop"))
    found = events(tick(world, instance))
    by_name = {getattr(each, "check_name", ""): each for each in found}
    for name in ("rpo_slo", "lag_sla"):
        assert by_name[name].passed
        assert by_name[name].description == "B is open for clients since failover op1 of ada@one"


def test_the_history_of_a_flow_holds_what_a_failover_would_lose_by_topic_and_group(world, instance):
    flow = a_flow().model_copy(update={"groups": GroupSettings(sync=True)})
    world.config = a_config(flow)
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=107)
    world.target.write(offsets_topic("A"), GroupPositions("A->B", "shop", (("orders", 0, 103),), 7))
    world.origin.silent = True
    world.target.write(
        anchors_topic("A"),
        Anchor("A->B", "orders", 0, "A.orders", 100, 100, source_end=105, behind_ms=1500, at_ms=9),
    )
    found = events(tick(world, instance))
    output = next(e for e in found if isinstance(e, dg.AssetObservation)).metadata
    assert (output["RPO in records"].value, output["RPO in seconds"].value) == (5, 1.5)
    assert output["RPO"].value.startswith("not known since 1970-01-01 00:00:00 UTC")
    (topic,) = output["topics"].records
    assert (topic.data["RPO in records"], topic.data["RPO in seconds"]) == (5, 1.5)
    (group,) = output["groups"].records
    assert (group.data["group"], group.data["RPO in records"]) == ("shop", 2)


@pytest.mark.parametrize("side", ["origin", "target"])
def test_bl_229_no_lag_is_told_of_a_flow_whose_cluster_is_silent(world, instance, side):
    world.config = a_config(a_flow(sla_s=0))
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    before = tick(world, instance)
    getattr(world, side).silent = True
    time.sleep(0.01)
    found = events(tick(world, instance, before.cursor))
    (late,) = [each for each in found if getattr(each, "check_name", "") == "lag_sla"]
    assert late.passed is False
    assert late.description.startswith("lag is not known since ")
    assert "did not answer" in late.description
    output = {key: each.value for key, each in late.metadata.items()}
    assert output["lag"].startswith("not known since ")
    assert not {"lag in records", "lag in seconds"} & output.keys()


def test_an_application_whose_flows_are_all_stopped_is_ended(world, instance):
    """BL-133."""
    world.watched = world.driven = {"B"}
    world.target.write("isthmus-status.A.internal", Intent("A->B", "stop"))
    (request,) = tick(world, instance).run_requests
    assert (request.job_name, request.run_config) == (
        "stop_application",
        {"ops": {"halt": {"config": {"application": "B"}}}},
    )


@pytest.mark.parametrize("cursor", ["", "garbage", "[]", '{"told": 1}', '{"memory": 7}'])
def test_a_cursor_that_cannot_be_read_costs_nothing_but_memory(world, instance, cursor):
    assert tick(world, instance, cursor).run_requests


def test_the_cursor_stays_small(world, instance):
    world.config = a_config(*(a_flow(chr(65 + n), "Z") for n in range(20)))
    assert len(tick(world, instance).cursor) < 8_000


def test_definitions_load(monkeypatch, tmp_path):
    from orchestration import definitions  # noqa: PLC0415 - loads the whole of Dagster's part

    third = "C.bootstrap.servers = c:1\nB->C.enabled = true\n"
    named = "A->B.lag.sla.topics = orders\nA->B.owners = team:x\n"
    text = TWO.replace("clusters = A, B", "clusters = A, B, C")
    file = written(tmp_path, f"{text}{third}{named}")
    monkeypatch.setenv("ISTHMUS_CONFIG", str(file))
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    with warnings.catch_warnings():  # Dagster warns of its own parameter `owners`
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        found = definitions.defs()
        dg.Definitions.validate_loadable(found)
        keys = {each.key.to_user_string() for each in found.resolve_all_asset_specs()}
    names = ("acls", "checkpoints", "group_offsets", "heartbeats", "topic_configs")
    assert keys == {
        "kafka/A",
        "kafka/B",
        "kafka/C",
        "kafka/A/topics/orders",
        "kafka/B/topics/A.orders",
        *(
            f"replication/{flow}/{each}"
            for flow in ("A_to_B", "B_to_C")
            for each in (*names, "stream", "topics")
        ),
    }


WARNING = "f.properties:5: topics: the properties format removes the backslash"


def announcements(result: dg.SensorResult) -> list[dg.AssetObservation]:
    return [
        each
        for each in result.asset_events
        if isinstance(each, dg.AssetObservation) and "warnings" in each.metadata
    ]


def test_warnings_about_the_file_are_reported_once_and_again_when_it_changed(world, instance):
    def with_warnings(*lines: str) -> None:
        world.config = world.config.model_copy(update={"warnings": lines})

    with_warnings(WARNING)
    first = tick(world, instance)
    (output,) = announcements(first)
    assert output.asset_key == stream_key("A->B")
    assert output.metadata["warnings"].value == WARNING
    assert output.metadata["topics"].value == ".*"
    second = tick(world, instance, first.cursor)
    assert announcements(second) == []
    with_warnings(WARNING, "f.properties:6: acks: has no effect")
    third = tick(world, instance, second.cursor)
    assert announcements(third)[0].description.endswith("acks: has no effect")
    with_warnings()
    (last,) = announcements(tick(world, instance, third.cursor))
    assert last.metadata["warnings"].value == "none"


def test_the_streams_definition_has_the_warnings_and_the_effective_patterns():
    config = a_config().model_copy(update={"warnings": (WARNING,)})
    specs = {each.key: each for each in build_assets(config).resolve_all_asset_specs()}
    metadata = specs[stream_key("A->B")].metadata
    assert metadata["warnings"] == WARNING
    assert metadata["topics"] == ".*"


def test_an_edit_of_the_file_is_an_observation_with_its_changes(world, instance):
    first = tick(world, instance)
    world.changes, world.read_ms = ("A->B: topics: x → y",), 2
    second = tick(world, instance, first.cursor)
    output = [each.description for each in announcements(second)]
    assert output == ["the file was edited: A->B: topics: x → y"]
    assert announcements(tick(world, instance, second.cursor)) == []


def test_a_broken_edit_fails_a_check_with_line_and_fix_and_supervision_goes_on(world, instance):
    world.watched, world.driven = {"B"}, {"B"}
    world.copy(records=5, end=5)
    first = tick(world, instance)
    world.problem = "f.properties:3: topcs: unknown key → was topics meant?"
    second = tick(world, instance, first.cursor)
    (check,) = [each for each in second.asset_events if isinstance(each, dg.AssetCheckEvaluation)]
    assert (check.check_name, check.passed) == ("file_in_force", False)
    assert world.problem in check.description
    assert "stay in force" in check.description
    world.problem = ""
    third = tick(world, instance, second.cursor)
    passed = [e.passed for e in third.asset_events if isinstance(e, dg.AssetCheckEvaluation)]
    assert passed == [True]


def test_a_flow_whose_last_good_drill_is_too_old_fails_its_check_and_others_have_none(
    world, instance
):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)
    names = {getattr(each, "check_name", "") for each in tick(world, instance).asset_events}
    assert "drill_age" not in names
    flow = a_flow().model_copy(update={"drill_max_age": timedelta(days=30)})
    world.config = a_config(flow)

    def evaluated(ended_ms):
        good = Drill("A->B", good=True, ended_ms=ended_ms, rto_s=9.0, rpo_records=0)
        bad = Drill("A->B", good=False, ended_ms=now_ms())
        world.target.write(status_topic("A"), good, bad)
        events = tick(world, instance).asset_events
        (event,) = [e for e in events if getattr(e, "check_name", "") == "drill_age"]
        return event

    old = evaluated(1_000)
    assert not old.passed
    assert "longer ago than drill.max.age = 30d" in old.description
    assert evaluated(now_ms() - 1_000).passed


def test_a_batch_flow_whose_last_good_run_is_too_old_fails_its_check_and_streams_have_none(
    world, instance
):
    limit = {"batch_max_age": timedelta(hours=12)}

    def evaluated(*runs, mode="batch"):
        world.config = a_config(a_flow().model_copy(update={"mode": mode, **limit}))
        world.target.write(status_topic("A"), *runs)
        events = tick(world, instance).asset_events
        found = [e for e in events if getattr(e, "check_name", "") == "batch_age"]
        return [(each.passed, each.description) for each in found]

    assert evaluated(mode="stream") == []
    assert evaluated() == [
        (False, "no run has copied all yet; batch.max.age is 12h: isthmus batch FILE")
    ]
    hours = 3_600_000
    cut_off = BatchRun(
        "A->B", ended_ms=now_ms(), problem="a cluster", good_ms=now_ms() - 11 * hours
    )
    assert [passed for passed, _ in evaluated(cut_off)] == [True]
    ((passed, reason),) = evaluated(replace(cut_off, good_ms=now_ms() - 13 * hours))
    assert not passed
    assert "longer ago than batch.max.age = 12h" in reason


def test_a_flow_whose_last_good_verification_is_too_old_or_found_differences_fails_its_check(
    world, instance
):
    world.watched = world.driven = {"B"}
    world.copy(records=100, end=100)

    def evaluated():
        found = [e for e in tick(world, instance).asset_events if is_verified(e)]
        return [(each.passed, each.description) for each in found]

    def is_verified(event):
        return getattr(event, "check_name", "") == "verified_age"

    assert evaluated() == []  # without a limit
    world.config = a_config(a_flow().model_copy(update={"verify_max_age": timedelta(days=7)}))
    ((passed, reason),) = evaluated()
    assert (passed, reason.partition(";")[0]) == (False, "nothing was verified yet")
    now = now_ms()
    world.target.write(anchors_topic("A"), Verification("A->B", now, "equal", now, 100))
    ((passed, reason),) = evaluated()
    assert passed, reason
    world.target.write(anchors_topic("A"), Verification("A->B", now, "different", now - 1, 99, 1))
    ((passed, reason),) = evaluated()
    assert (passed, "found 1 differences" in reason) == (False, True)
    world.target.silent = True
    assert evaluated() == []  # it is not known


def test_a_silent_target_changes_no_verdict_on_the_verification(world, instance):
    world.watched = world.driven = {"B"}
    world.config = a_config(a_flow().model_copy(update={"verify_max_age": timedelta(days=7)}))
    world.copy(records=100, end=100)
    now = now_ms()
    world.target.write(anchors_topic("A"), Verification("A->B", now, "equal", now, 100))
    first = tick(world, instance)
    world.target.silent = True
    second = tick(world, instance, first.cursor)
    world.target.silent = False
    third = tick(world, instance, second.cursor)
    names = [getattr(e, "check_name", "") for e in (*second.asset_events, *third.asset_events)]
    assert "verified_age" not in names


def test_a_batch_flow_is_not_launched_and_no_limit_of_a_stream_fails_for_it(instance):
    """It is an hour behind, and no driver runs: so it is meant to be between two runs."""
    world = World(a_config(a_flow().model_copy(update={"mode": "batch"})))
    world.copy(records=10, end=90, age_s=3600, state="STOPPED")
    run = BatchRun("A->B", 1, now_ms() - 3_620_000, now_ms() - 3_600_000, 10)
    world.target.write(status_topic("A"), run)
    result = tick(world, instance)
    assert not result.run_requests
    assert "A->B IDLE" in result.skip_reason.skip_message
    checks = {each.check_name: each for each in events(result) if hasattr(each, "check_name")}
    assert all(each.passed for each in checks.values())
    assert checks["lag_sla"].description == "a batch flow: 80 records wait for its next run"
    assert "AssetMaterialization" not in kinds(result)


def test_what_quotas_and_a_full_disk_cost_a_flow_is_in_its_metadata(world, instance):
    world.watched = world.driven = {"B"}
    slow = {"target_throttled_ms": 9_500, "backed_off_to": 70_000, "disk_limit": 80_000}
    world.copy(records=100, end=100, **slow)
    observed = events(tick(world, instance))[0].metadata
    assert {
        name: observed[name].value for name in observed if "throttle" in name or "disk" in name
    } == {
        "seconds throttled by the target": 9.5,
        "bytes per second while it throttles": 70_000,
        "bytes per second while a disk fills": 80_000,
    }
    other = World(a_config())
    other.watched = other.driven = {"B"}
    other.copy(records=100, end=100)
    assert not any("throttle" in name for name in events(tick(other, instance))[0].metadata)


def test_the_check_of_a_flow_that_is_not_well_says_what_is_wrong_now(world, instance):
    world.watched = world.driven = {"B"}
    result, output = None, []
    for state in ("STARTING", "FAILED", "FAILED", "DEGRADED"):
        world.copy(records=3, end=10, state=state, reason=f"it is {state}")
        result = tick(world, instance, result and result.cursor)
        output.append([e.description for e in events(result) if _is_check(e, "healthy")])
    assert output == [
        ["STARTING: it is STARTING"],
        ["FAILED: it is FAILED"],
        [],
        ["DEGRADED: it is DEGRADED"],
    ]


def _is_check(event: object, name: str) -> bool:
    return isinstance(event, dg.AssetCheckEvaluation) and event.check_name == name
