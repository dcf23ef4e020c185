"""Medians, ratios and verdicts of the benchmark."""

from __future__ import annotations

import json

import pytest

from bench.figures import (
    MEASURES,
    TimedCopy,
    as_json,
    derived,
    has_settled,
    medians,
    percentile,
    ratio,
    rows,
    verdict,
)

ROUNDS = {
    "isthmus": [{"rps_1k": 500.0}, {"rps_1k": 700.0}, {"rps_1k": 510.0}],
    "mm2": [{"rps_1k": 250.0}, {"rps_1k": 255.0}, {"rps_1k": 90.0}],
}
BY_KEY = {measure.key: measure for measure in MEASURES}


def test_a_copy_tells_its_rate_its_bytes_and_its_cpu_time_a_record():
    copy = TimedCopy(records=1_000_000, size=1000, seconds=2.0, cpu_s=0.5)
    assert copy.figures("1k") == {"rps_1k": 500_000, "mbs_1k": 500, "cpu_us_1k": 0.5}


def test_one_round_that_went_astray_does_not_move_the_result():
    assert medians(ROUNDS) == {"rps_1k": 510, "rps_1k_mm2": 250}


def test_a_figure_that_only_some_rounds_have_is_the_median_of_those():
    assert medians({"isthmus": [{"p50_ms": 3.0}, {}]}) == {"p50_ms": 3}


@pytest.mark.parametrize(
    ("key", "ours", "theirs", "better"),
    [
        pytest.param("rps_1k", 400.0, 200.0, 2.0, id="more records a second"),
        pytest.param("cpu_us_1k", 0.5, 5.0, 10.0, id="less cpu time"),
        pytest.param("p99_ms", 20.0, 10.0, 0.5, id="later, so worse"),
        pytest.param("idle_cpu_pct", 0.0, 1.0, None, id="nothing to divide by"),
    ],
)
def test_a_ratio_above_one_always_means_that_isthmus_is_better(key, ours, theirs, better):
    assert ratio(BY_KEY[key], {key: ours, f"{key}_mm2": theirs}) == better


def test_a_row_shows_a_dash_for_what_was_not_measured():
    (row,) = rows({"rps_1k_mm2": 250_000.0})
    assert row == ("records/s, 1 KB", "-", "250,000", "-", "2.5 times MM2", "")


@pytest.mark.parametrize(
    ("result", "key", "met"),
    [
        pytest.param({"cpu_us_1k": 0.5, "cpu_us_1k_mm2": 5.0}, "cpu_us_1k", True, id="as often"),
        pytest.param({"cpu_us_1k": 0.6, "cpu_us_1k_mm2": 5.0}, "cpu_us_1k", False, id="too seldom"),
        pytest.param({"cpu_us_1k": 0.6}, "cpu_us_1k", None, id="nothing to compare with"),
        pytest.param({"takeover_s": 1.0}, "takeover_s", True, id="at the limit"),
        pytest.param({"takeover_s": 1.1}, "takeover_s", False, id="above the limit"),
        pytest.param({"wire_gb_cpu_s": 0.9}, "wire_gb_cpu_s", False, id="below what is asked"),
        pytest.param({"mbs_1k": 1.0, "mbs_1k_mm2": 2.0}, "mbs_1k", None, id="not judged"),
    ],
)
def test_a_target_is_met_at_its_bound_and_missed_beyond(result, key, met):
    assert verdict(BY_KEY[key], result)[1] is met


def test_the_relay_gives_the_cost_in_relays_and_the_bytes_a_cpu_second():
    found = derived({"cpu_us_1k": 0.5, "cpu_us_1k_relay": 0.25, "wire_bytes_1k": 600.0})
    assert (found["relay_times"], found["wire_gb_cpu_s"]) == (2, 1.2)


@pytest.mark.parametrize(
    ("costs", "settled"),
    [
        pytest.param([], False, id="nothing yet"),
        pytest.param([9.0], False, id="once is no trend"),
        pytest.param([9.0, 8.0], False, id="still falling"),
        pytest.param([9.0, 8.0, 7.9], True, id="no longer falling"),
        pytest.param([8.0, 9.0], True, id="risen"),
    ],
)
def test_a_tool_is_warm_when_its_cost_no_longer_falls(costs, settled):
    assert has_settled(costs) is settled


def test_the_table_has_no_row_that_nobody_measured():
    assert rows({}) == []


def test_the_json_line_rounds_both_tools_alike():
    line = as_json({"cpu_us_1k": 0.38765, "cpu_us_1k_mm2": 5.43219, "rps_1k": 512_345.6})
    assert json.loads(line) == {"cpu_us_1k": 0.388, "cpu_us_1k_mm2": 5.432, "rps_1k": 512_346}
    assert "\n" not in line


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        pytest.param(50, 50, id="median"),
        pytest.param(99, 99, id="p99"),
        pytest.param(100, 100, id="max"),
    ],
)
def test_a_percentile_is_a_value_that_was_seen(percent, expected):
    assert percentile(reversed(range(1, 101)), percent) == expected
