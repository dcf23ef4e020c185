"""The page on metrics and the dashboard name what there is, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from replication.supervision.metric_catalogue import ALL, DRIVER, OF_FLOWS, OF_RECORDS, MetricType

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "metrics.md").read_text()
DASHBOARD = json.loads((DOCS / "grafana" / "isthmus.json").read_text())
NAME = re.compile(r"\bisthmus_[a-z_]+")
JVM = "isthmus_jvm_process_"  # of the client library
EXPRESSIONS = [each["expr"] for panel in DASHBOARD["panels"] for each in panel["targets"]]


def served() -> set[str]:
    """Return the names under which samples are served."""
    ends = {MetricType.SUMMARY: ("_sum", "_count")}
    return {each.name + end for each in ALL for end in ends.get(each.kind, ("",))}


def labels_in(expression: str) -> set[str]:
    chosen = re.findall(r"(\w+)(?:=~|!=|=)\"", expression)
    grouped = [each for group in re.findall(r"(?:by|on) \((.*?)\)", expression)
               for each in group.split(", ")]  # fmt: skip
    return {*chosen, *grouped}


def test_the_page_has_a_row_for_each_metric_with_its_type():
    rows = re.findall(r"^\| `(isthmus_\w+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted((each.name, each.kind) for each in (*OF_RECORDS, *OF_FLOWS))
    assert f"`{DRIVER.name}` (labels {', '.join(f'`{each}`' for each in DRIVER.labels)})" in PAGE


def test_the_page_names_the_labels_of_each_metric():
    rows = re.findall(r"^\| `(isthmus_\w+)` \| \w+ \| (.*?) ?\| .* \|$", PAGE, re.MULTILINE)
    reported = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert {each.name: each.labels[2:] for each in OF_FLOWS}.items() <= reported.items()


def test_the_page_names_no_metric_that_is_not_there():
    known = served() | {each.name for each in ALL} | {JVM}
    assert set(NAME.findall(PAGE)) - known == set()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_dashboard_asks_for_metrics_and_labels_that_are_served(expression):
    names = {each for each in NAME.findall(expression) if not each.startswith(JVM)}
    assert names or JVM in expression
    assert names <= served()
    known = {label for each in ALL for label in each.labels} | {"instance"}
    assert labels_in(expression) <= known


def test_every_kind_of_figure_is_on_the_dashboard():
    shown = " ".join(EXPRESSIONS)
    for each in (
        "flow_state",
        "lag_seconds",
        "lag_records",
        "rpo_seconds",
        "losses",
        "duty_ok",
        "latency",
    ):
        assert each in shown


def unknown_to_grafana(dashboard: dict) -> list[str]:
    """Return the paths of what Grafana's types do not keep when they read a dashboard."""
    register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    return list(lost(dashboard, read, ""))


def lost(given: object, kept: object, path: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            yield from lost(value, kept.get(key, "nothing"), f"{path}/{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for number, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from lost(one, other, f"{path}/{number}")
    elif given != kept:
        yield path


def test_grafanas_types_know_each_field_of_the_dashboard():
    assert unknown_to_grafana(DASHBOARD) == []


def test_a_field_that_grafana_does_not_know_is_noticed():
    first, *others = DASHBOARD["panels"]
    first = {**first, "colour": "red", "gridPos": {**first["gridPos"], "depth": 1}}
    found = unknown_to_grafana({**DASHBOARD, "panels": [first, *others]})
    assert found == ["/panels/0/gridPos/depth", "/panels/0/colour"]
