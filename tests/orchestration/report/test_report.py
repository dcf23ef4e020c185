"""The page of ``isthmus report``: what several looks found, in pictures that need no other file."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.flows.status_view import StatusView
from orchestration.report.flow_history import FlowSeries, worst_first
from orchestration.report.page import page
from orchestration.report.pictures import BAD, GOOD, UNKNOWN, colour, heat_map, line, topology
from replication.model import PartitionState, TopicPartition
from replication.state import Anchor, Drill, Loss

AT = 1_700_000_000_000


@pytest.fixture
def world():
    return World(a_config())


def looked(world, *steps, drills=()):
    """Return a history with a look after each of ``steps``."""
    view, found = StatusView(world.config, world, world), FlowSeries("A->B", 60.0, drills)
    for n, step in enumerate(steps):
        step()
        (each,) = view.look()
        found.add(each, AT + 1000 * n)
    return found


def another_topic(world, name):
    world.target.write(
        "isthmus-anchors.A.internal",
        Anchor("A->B", name, 0, f"A.{name}", 5, 5, records=5, state=PartitionState.RUNNING),
    )
    world.origin.ends[TopicPartition(name, 0)] = 5


def test_a_look_adds_to_each_series_and_a_topic_that_comes_later_has_gaps_before(world):
    found = looked(
        world,
        lambda: world.copy(records=3, end=10, age_s=5),
        lambda: another_topic(world, "late"),
        lambda: None,
    )
    assert [each.state for each in found.samples] == ["RUNNING"] * 3
    assert [len(row) for row in found.lags.values()] == [3, 3]
    assert found.lags["late"][0] is None
    assert found.lags["late"][1:] == [0.0, 0.0]
    assert worst_first(found.lags, 1) == ["orders"]


def test_the_page_has_all_parts_and_asks_for_no_other_file(world):
    world.target.write(
        "isthmus-anchors.A.internal",
        Loss("A->B", "orders", 0, "", 5, next=9, reason="<retention>", at_ms=AT),
    )
    drill = Drill("A->B", good=True, ended_ms=AT, rto_s=41.5, rpo_records=12)
    found = looked(world, lambda: world.copy(records=3, end=10), drills=[drill])
    text = page([found], AT)
    for part in (
        "A-&gt;B",
        "&lt;retention&gt;",
        "41.5 s",
        "12 records",
        "RUNNING",
        "all flows are",
    ):
        assert part in text
    assert not re.search(r"(src|href)=|https?:|@import|url\((?!#tip)", text)
    pictures = [ET.fromstring(each) for each in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314 - ours
    assert [each.get("aria-label") for each in pictures] == [
        "clusters and flows",
        "states",
        "lag",
        "throughput",
        "throughput",
        "latency",
        "lag by topic",
    ]


def test_a_flow_that_is_not_well_is_named_in_the_heading_and_red(world):
    found = looked(world, lambda: world.copy(records=3, end=10, state="FAILED", reason="no <disk>"))
    text = page([found], AT)
    assert "not healthy: A-&gt;B" in text
    assert "no &lt;disk&gt;" in text
    assert BAD in topology([("A", "B", False)])
    assert GOOD in topology([("A", "B", True)])


def test_colours_go_from_green_to_red_at_the_limit_and_the_unknown_is_grey():
    assert colour(0.0, 60) == "hsl(120 60% 55%)"
    assert colour(30.0, 60) == "hsl(60 60% 55%)"
    assert colour(600.0, 60) == "hsl(0 60% 55%)"
    assert colour(None, 60) == UNKNOWN
    assert heat_map({"t": [0.0, None]}, 60).count("<rect") == 2


def test_a_gap_of_a_line_is_no_value_and_the_caption_has_the_last_and_the_highest():
    drawn = line("lag", "s", [1.0, None, 4.0, 2.0], 60)
    assert drawn.count("<polyline") == 2
    alone, run = re.findall(r'points="([^"]*)"', drawn)
    assert len(set(alone.split())) == 1 < len(alone.split())  # a dot
    assert len(set(run.split())) == 2
    assert "lag: now 2.0, highest 4.0 s" in drawn
    assert "not known" in line("lag", "s", [None])


def test_partitions_that_are_not_copied_are_listed_with_their_reasons_the_worst_first(world):
    def halt() -> None:
        world.copy(records=3, end=10)
        rows = [("carts", 0, "NOT_SELECTED", "left out")]
        rows += [("stock", number, "REFUSED", "too <large>") for number in (1, 2)]
        for topic, number, state, reason in rows:
            world.target.write(
                "isthmus-anchors.A.internal",
                Anchor("A->B", topic, number, f"A.{topic}", 5, 5, state=state, reason=reason),
            )

    text = page([looked(world, halt)], AT)
    listed = text.split("<h3>Not copied</h3>")[1].split("</table>")[0]
    assert re.findall(r"<tr><td>(.*?)</td></tr>", listed) == [
        "stock-1, 2</td><td>REFUSED</td><td>too &lt;large&gt;",
        "carts-0</td><td>NOT_SELECTED</td><td>left out",
    ]


def test_what_a_target_that_does_not_answer_knows_is_not_said_to_be_nothing(world):
    def silence() -> None:
        world.target.silent = True

    nothing = ("all is copied", "nothing was lost", "none is synced", "none was made yet")
    known, unknown = looked(world, lambda: world.copy(records=3, end=10)), looked(world, silence)
    assert all(each in page([known], AT) for each in nothing)
    text = page([unknown], AT)
    assert not any(each in text for each in nothing)
    assert text.count("<p>not known</p>") == len(nothing)
    assert "UNKNOWN: target cluster B did not answer" in text
    assert "not healthy: A-&gt;B" in text
