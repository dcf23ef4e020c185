"""What the bench makes of its measurements."""

from __future__ import annotations

import json

import pytest

from bench.figures import MEASURES, Copy, as_json, medians, percentile, ratio, rows

ROUNDS = {
    "isthmus": [{"rps_1k": 500.0}, {"rps_1k": 700.0}, {"rps_1k": 510.0}],
    "mm2": [{"rps_1k": 250.0}, {"rps_1k": 255.0}, {"rps_1k": 90.0}],
}
BY_KEY = {measure.key: measure for measure in MEASURES}


def test_a_copy_tells_its_rate_its_bytes_and_its_cpu_time_a_record():
    copy = Copy(records=1_000_000, size=1000, seconds=2.0, cpu_s=0.5)
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
    assert rows({"rps_1k_mm2": 250_000.0}) == [("records/s, 1 KB", "-", "250,000", "-")]


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
