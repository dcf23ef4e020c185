"""What the page shows of the hours before: from Dagster's history, as the supervisor writes it."""

from __future__ import annotations

import time

import dagster as dg
import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config, a_flow

from orchestration.dagster import report_events
from orchestration.dagster.sensors import supervisor
from orchestration.flows.status_view import StatusView
from orchestration.report.event_log import open_history, stored_samples
from orchestration.report.flow_history import FlowSample, FlowSeries
from orchestration.report.over_time import MOST_INTERVALS, Stored, over_time
from orchestration.report.page import page
from orchestration.report.pictures import BAD, GOOD, UNKNOWN
from orchestration.services.state_directory import StateDirectory

HOUR_MS = 3_600_000
UNTIL = 100 * 24 * HOUR_MS
SINCE = UNTIL - 24 * HOUR_MS
QUARTER_MS = HOUR_MS // 4


def stored(at_ms: int, state: str = "RUNNING", lag_s: float | None = 1.0, **lags: float) -> Stored:
    return Stored(FlowSample(at_ms, state, state == "RUNNING", lag_s, 10.0, 0.5, 20), lags)


def test_an_interval_has_its_worst_state_its_highest_lag_and_its_mean_rate():
    found = over_time(
        [
            stored(SINCE + 1, lag_s=2.0, orders=2.0),
            stored(SINCE + 2, "DEGRADED", lag_s=70.0, orders=70.0, stock=1.0),
            stored(SINCE + 3, lag_s=None),
        ],
        "a day",
        SINCE,
        UNTIL,
    )
    first = found.samples[0]
    assert (first.state, first.healthy, first.lag_s, first.records_s) == ("DEGRADED", False, 70, 10)
    assert len(found.samples) == MOST_INTERVALS == len(found.lags["orders"])
    assert (found.lags["orders"][0], found.lags["stock"][0]) == (70.0, 1.0)
    assert found.lags["orders"][1] is None


def test_intervals_are_not_shorter_than_the_time_between_two_samples():
    assert len(over_time([], "an hour", UNTIL - HOUR_MS, UNTIL).samples) == 12
    assert len(over_time([], "a minute", UNTIL - 60_000, UNTIL).samples) == 1


def test_a_state_holds_for_some_minutes_and_is_not_known_after_that():
    found = over_time([stored(SINCE + QUARTER_MS - 1000)], "a day", SINCE, UNTIL)
    assert [each.state for each in found.samples[:3]] == ["RUNNING", "RUNNING", "not known"]
    assert [each.healthy for each in found.samples[:3]] == [True, True, None]
    assert found.samples[1].lag_s is None


def test_what_was_before_says_how_the_time_began_and_what_is_outside_does_not_count():
    found = over_time(
        [stored(SINCE - 60_000, "PAUSED", lag_s=9.0), stored(UNTIL, lag_s=99.0)],
        "a day",
        SINCE,
        UNTIL,
    )
    assert found.samples[0].state == "PAUSED"
    assert all(each.lag_s is None for each in found.samples)
    assert found.lags == {}


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def tick(world: World, instance: dg.DagsterInstance, cursor: str | None) -> str | None:
    resources = {"isthmus": FakeIsthmus.of(world)}
    with dg.build_sensor_context(instance=instance, resources=resources, cursor=cursor) as context:
        result = supervisor(context)
    for event in result.asset_events:
        instance.report_runless_asset_event(event)
    return result.cursor


def test_the_history_is_read_as_the_supervisor_wrote_it(instance, monkeypatch):
    world, cursor, begin_ms = World(a_config()), None, int(time.time() * 1000)
    world.watched = world.driven = {"B"}
    monkeypatch.setattr(report_events, "SAMPLE_MS", 0)
    for records, state in ((3, "RUNNING"), (7, "DEGRADED"), (10, "RUNNING")):
        world.copy(records=records, end=10, state=state, reason=f"it is {state}")
        cursor = tick(world, instance, cursor)
    found = stored_samples(instance, "A->B", begin_ms - 1000)
    assert [each.sample.state for each in found] == ["RUNNING", "DEGRADED", "RUNNING"]
    assert [each.sample.healthy for each in found] == [True, False, True]
    assert [set(each.lags) for each in found] == [{"orders"}] * 3
    assert found[-1].sample.lag_s == found[-1].lags["orders"] == 0.0
    assert all(begin_ms - 1000 < each.sample.at_ms for each in found)
    assert stored_samples(instance, "B->A", 0) == ()
    assert stored_samples(instance, "A->B", begin_ms + HOUR_MS) == ()


def test_the_page_shows_both_the_past_and_what_was_just_seen():
    history = FlowSeries("A->B", 60.0)
    rows = [stored(SINCE + 1, "FAILED", orders=80.0)]
    history.past = over_time(rows, "The last 24h", SINCE, UNTIL)
    text = page([history], UNTIL)
    assert "<h3>The last 24h</h3>" in text
    assert text.count('aria-label="states"') == 2
    past = text.split("<h3>The last 0 seconds</h3>")[0]
    assert f'fill="{BAD}"><title>FAILED</title>' in past
    assert f'fill="{UNKNOWN}"><title>not known</title>' in past
    assert GOOD not in past.split("<h3>The last 24h</h3>")[1]
    assert "highest 1.0 s" in past
    assert "Lag by topic: 1 of 1" in past


def test_what_was_just_seen_has_the_seconds_that_it_took():
    """Looks at a silent cluster take longer than a second each."""
    world, history = World(a_config()), FlowSeries("A->B", 60.0)
    view = StatusView(world.config, world, world)
    history.past = over_time([], "The last 24h", SINCE, UNTIL)
    for at_ms in (0, 10_050, 20_100):
        history.add(view.look()[0], UNTIL + at_ms)
    assert "<h3>The last 30 seconds</h3>" in page([history], UNTIL + 29_900)


def test_a_state_directory_without_dagster_has_no_history(tmp_path):
    assert open_history(StateDirectory(tmp_path)) is None


def test_a_batch_flow_between_two_runs_is_well_in_the_history(instance):
    daily = a_flow().model_copy(update={"mode": "batch"})
    world, begin_ms = World(a_config(daily)), int(time.time() * 1000)
    world.copy(records=3, end=10, state="STOPPED")
    tick(world, instance, None)
    (found,) = stored_samples(instance, "A->B", begin_ms - 1000)
    assert (found.sample.state, found.sample.healthy) == ("IDLE", True)
