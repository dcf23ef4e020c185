"""What Dagster is told of clusters."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.assets import cluster_key
from orchestration.dagster.observations import cluster_sensor
from orchestration.dagster.observations.cluster_sensor import build_cluster_check, observe_clusters
from replication.client.cluster_facts import ClusterFacts

FACTS = ClusterFacts(
    "id-a",
    {1: "a:9092", 2: "b:9092"},
    clock_ahead_ms=120,
    unknown={},
    controller=2,
    version=(4, 3),
)


@pytest.fixture(autouse=True)
def answers(monkeypatch) -> dict:
    found = {"A": FACTS, "B": "connection refused"}
    monkeypatch.setattr(
        cluster_sensor, "cluster_overviews", lambda all_: [found[each.alias] for each in all_]
    )
    return found


def tick(cursor: str | None = None) -> dg.SensorResult:
    resources = {"isthmus": FakeIsthmus.of(World(a_config()))}
    with dg.build_sensor_context(resources=resources, cursor=cursor) as context:
        return observe_clusters(context)


def about(result: dg.SensorResult, alias: str) -> list:
    return [each for each in result.asset_events if each.asset_key == cluster_key(alias)]


def test_a_cluster_is_observed_with_its_facts_and_one_that_is_silent_with_the_reason():
    result = tick()
    observed, check = about(result, "A")
    reported = {name: each.value for name, each in observed.metadata.items()}
    assert reported["version"] == "4.3"
    assert (reported["brokers"], reported["controller"]) == (2, "2")
    assert reported["clock ahead in seconds"] == 0.12
    assert (check.passed, check.description) == (True, "2 brokers answer, Kafka 4.3")
    _, silent = about(result, "B")
    assert (silent.passed, silent.description) == (
        False,
        "cluster B does not answer: connection refused",
    )
    assert "cluster B does not answer" in result.skip_reason.skip_message


def test_only_changes_are_reported_and_a_clock_that_ticks_is_none(answers):
    first = tick()
    answers["A"] = replace(FACTS, clock_ahead_ms=135)
    assert tick(first.cursor).asset_events == []
    answers["A"] = replace(FACTS, controller=1)
    second = tick(first.cursor)
    assert [type(each).__name__ for each in about(second, "A")] == [
        "AssetObservation",
        "AssetCheckEvaluation",
    ]
    assert about(second, "B") == []


def test_a_clock_that_is_far_off_turns_the_check_red(answers):
    answers["A"] = replace(FACTS, clock_ahead_ms=-61_000)
    _, check = about(tick(), "A")
    assert check.passed is False
    assert check.description == (
        "2 brokers answer, but the controller's clock is 61 s behind this machine's: set both by "
        "NTP"
    )


@pytest.mark.parametrize("cursor", ["", "garbage", "[]", '{"A": 1}'])
def test_a_cursor_that_cannot_be_read_costs_one_report(cursor):
    assert len(tick(cursor).asset_events) == 4


def test_a_person_may_run_the_check():
    check = build_cluster_check(a_config().clusters["B"])
    (result,) = [check(isthmus=FakeIsthmus.of(World(a_config())))]
    assert (result.passed, result.metadata["reason"].value) == (False, "connection refused")
