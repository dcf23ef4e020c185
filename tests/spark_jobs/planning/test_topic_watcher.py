"""A new plan of the clusters: what is kept, logged and written."""

from __future__ import annotations

import shutil
from concurrent.futures import Future
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from support.settings.configs import a_flow

from replication.errors import ClusterUnavailable, WrongCluster
from replication.provenance.routes import Routes
from replication.state import AbsentTopic
from spark_jobs.planning.flow_planner import FlowPlan
from spark_jobs.planning.topic_watcher import TopicWatcher
from spark_jobs.planning.unit_template import template
from spark_jobs.process.appdir import FlowDir, read_json
from spark_jobs.source.data_source import with_settings

GAP = "0 of 3 visible topics match order-.*; near: orders-us, orders-eu"


def topic_watcher(tmp_path, *plans: FlowPlan) -> TopicWatcher:
    """Return a watcher whose planner returns ``plans``, one after the other."""
    found = iter(plans)

    def look() -> Future[FlowPlan]:
        future: Future[FlowPlan] = Future()
        future.set_result(next(found))
        return future

    return TopicWatcher(a_flow(), FlowDir(tmp_path), look)


def looks(made: TopicWatcher, times: int) -> None:
    for _ in range(times):
        made._look_at = 0.0
        made.look({})  # begins
        made.look({})  # takes the plan


def test_bl_141_what_is_asked_for_in_vain_is_a_warning_once_and_stays_in_the_status(tmp_path):
    made = topic_watcher(tmp_path, *[FlowPlan(gap=GAP)] * 3, FlowPlan())
    with capture_logs() as logs:
        looks(made, 3)
        assert made.gap == GAP
        looks(made, 1)
    assert made.gap == ""
    warned = [each["reason"] for each in logs if each["log_level"] == "warning"]
    assert warned == [GAP]


def test_what_people_should_know_of_a_plan_is_kept_while_it_holds(tmp_path):
    made = topic_watcher(tmp_path, FlowPlan(remark="by another clock"), FlowPlan())
    looks(made, 1)
    assert made.remark == "by another clock"
    looks(made, 1)
    assert made.remark == ""


@pytest.mark.parametrize("run", [True, False])
def test_bl_125_a_plan_that_somebody_deleted_is_written_again(tmp_path, run):
    made = topic_watcher(tmp_path / "flow", FlowPlan(), FlowPlan())
    looks(made, 1)
    made.write(run=run)
    shutil.rmtree(tmp_path / "flow")
    made.look({})
    assert read_json(FlowDir(tmp_path / "flow").plan)["run"] is run


def test_bl_059_our_own_topics_are_taken_for_gone_after_three_looks_in_a_row(tmp_path):
    gone, there = FlowPlan(missing_state_topic="isthmus-anchors.A.internal"), FlowPlan()
    made = topic_watcher(tmp_path, gone, gone, there, gone, gone, gone, there)
    looks(made, 5)
    assert made.missing_state_topic == ""
    looks(made, 1)
    assert made.missing_state_topic == "isthmus-anchors.A.internal"
    looks(made, 1)
    assert made.missing_state_topic == ""


def test_bl_217_a_state_topic_at_risk_is_reported_until_it_no_longer_is(tmp_path, capsys):
    made = topic_watcher(tmp_path, FlowPlan(state_at_risk="x loses"), FlowPlan())
    looks(made, 1)
    assert made.state_at_risk == "x loses"
    looks(made, 1)
    assert made.state_at_risk == ""
    assert capsys.readouterr().out.count("state topic at risk") == 1


def absent(topic: str, state: str) -> AbsentTopic:
    return AbsentTopic("A->B", topic, state, f"{topic} is {state}", 7)


def test_topics_that_go_are_logged_once_with_one_line_for_all_of_a_state(tmp_path):
    gone = tuple(absent(each, "SOURCE_DELETED") for each in ("clicks", "orders"))
    plans = [FlowPlan(), *[FlowPlan(absent=gone)] * 3, FlowPlan(absent=gone[:1])]
    made = topic_watcher(tmp_path, *plans)
    with capture_logs() as logs:
        looks(made, 5)
    lines = [(e["log_level"], e["event"], e["topics"]) for e in logs if "topics" in e]
    assert lines == [
        ("warning", "topics are not copied any more", "clicks, orders"),
        ("info", "topics are copied again", "orders"),
    ]
    assert made.absent == gone[:1]


def test_a_topic_that_the_file_does_not_select_is_no_warning(tmp_path):
    made = topic_watcher(tmp_path, FlowPlan(absent=(absent("orders", "NOT_SELECTED"),)))
    with capture_logs() as logs:
        looks(made, 1)
    (line,) = [each for each in logs if "topics" in each]
    assert (line["log_level"], line["reason"]) == ("info", "orders is NOT_SELECTED")


def test_bl_223_a_wrong_cluster_is_one_until_a_plan_succeeds(tmp_path):
    """Silence in between proves nothing: the flow does not start on it."""
    answers = [WrongCluster("A is B"), ClusterUnavailable("A is silent"), FlowPlan()]

    def look() -> Future[FlowPlan]:
        future: Future[FlowPlan] = Future()
        found = answers.pop(0)
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)
        return future

    made = TopicWatcher(a_flow(), FlowDir(tmp_path), look)
    seen = []
    for _ in range(3):
        looks(made, 1)
        seen.append((made.wrong_cluster, made.problem))
    assert seen == [("A is B", "A is B"), ("A is B", "A is silent"), ("", "")]


def test_an_edit_is_planned_by_the_new_planner_and_gives_units_their_settings(tmp_path):
    made = topic_watcher(tmp_path, FlowPlan(gap="before"), FlowPlan(gap="old"))
    looks(made, 1)
    made._look_at = 0.0
    made.look({})  # begins by the former planner
    settings = template(a_flow(), 1, Routes.of((), {}))
    planned: Future[FlowPlan] = Future()
    planned.set_result(FlowPlan(gap="edited"))
    made.follow(a_flow(), lambda: planned, settings)
    assert made.number == 2
    assert read_json(FlowDir(tmp_path).plan)["number"] == 2
    assert (
        with_settings(replace(settings, stamps=True), read_json(FlowDir(tmp_path).plan)["settings"])
        == settings
    )
    made.look({})
    made.look({})
    assert made.gap == "edited"
    made.follow(a_flow(), lambda: planned, settings)
    assert made.number == 2, "equal settings end no epoch"


def test_a_limit_is_written_for_the_next_epoch_and_ends_none(tmp_path):
    made = topic_watcher(tmp_path, FlowPlan())
    made.limit(90)
    assert read_json(made._directory.plan) is None, "there is no plan yet"
    looks(made, 1)
    assert read_json(made._directory.plan)["limit"] == 90
    number = made.number
    made.limit(0)
    assert read_json(made._directory.plan)["limit"] == 0
    assert made.number == number
