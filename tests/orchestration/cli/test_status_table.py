"""Background tasks in the table of ``isthmus status``."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from support.builders import a_config
from support.fake_flows import World

from orchestration.cli.flows.table import render
from orchestration.cli.local.live import _line
from orchestration.flows.observe import FlowLook
from orchestration.flows.status_view import FlowView, StatusView, TopicView, as_data
from replication.model import Desired
from replication.settings.sections import Flow, FlowClients
from replication.state import AbsentTopic, Anchor, FlowStatus, TaskReport, status_topic
from replication.supervision.flow_figures import CounterSample
from replication.supervision.health import Health, Seen
from replication.supervision.lag import FlowLag

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
FLOW = Flow(source="A", target="B", clients=CLIENTS)
WELL = TaskReport("A->B", "heartbeats", 1000, ok=True, summary="beat", took_ms=3)
FAILING = TaskReport("A->B", "group offsets", 2000, ok=False, summary="B is silent")


def a_view(*tasks, reason=""):
    status = FlowStatus("A->B", state="RUNNING", reason=reason, partitions=1)
    look = FlowLook(FLOW, Seen("A->B", "here", 5000, status=status), tasks=tasks)
    return FlowView("A->B", look, Health("RUNNING", healthy=True, reason=""))


def test_a_task_that_fails_has_a_line_of_its_own_and_others_have_none():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render((a_view(WELL, FAILING),)))
    output = console.export_text()
    assert "A->B group offsets: B is silent" in output
    assert "heartbeats" not in output


def test_all_tasks_are_in_the_data_for_scripts():
    (flow,) = as_data((a_view(WELL, FAILING),))["flows"]
    assert flow["duties"][0] == {
        "name": "heartbeats",
        "ok": True,
        "summary": "beat",
        "at_ms": 1000,
        "took_ms": 3,
    }
    assert [each["ok"] for each in flow["duties"]] == [True, False]


def test_bl_141_what_a_flow_that_is_well_asks_for_in_vain_is_shown():
    console = Console(width=120, record=True, file=io.StringIO())
    gap = "no topic of the source matches later yet"
    console.print(render((a_view(reason=gap),)))
    assert f"A->B: {gap}" in console.export_text()


def a_flow_of(topics: int, halted: int = -1) -> FlowView:
    found = []
    for number in range(topics):
        state = "REFUSED" if number == halted else "RUNNING"
        anchor = Anchor("A->B", f"orders-{number}", 0, f"A.orders-{number}", 1, 1, state=state)
        counters = CounterSample(1, 1, 1)
        view = TopicView(anchor.topic, anchor.target_topic, (anchor,), counters, None, FlowLag(()))
        found.append(view)
    return replace(a_view(), topics=tuple(found))


def printed(view: FlowView, *, terminal: bool, lines: int | None = None) -> list[str]:
    console = Console(width=120, record=True, file=io.StringIO(), force_terminal=terminal)
    console.print(render((view,), "", lines))
    return console.export_text().splitlines()


@pytest.mark.parametrize("terminal", [True, False])
def test_every_topic_is_shown_so_that_grep_finds_it(terminal):
    output = printed(a_flow_of(200), terminal=terminal)
    assert [line.split()[0] for line in output if line.startswith("  orders-")] == [
        f"orders-{number}" for number in range(200)
    ]


def test_a_screen_that_is_renewed_shows_as_many_topics_as_fit_and_halted_ones_first():
    output = printed(a_flow_of(200, halted=150), terminal=True, lines=24)
    assert len(output) <= 24
    names = [line.split()[0] for line in output if line.startswith("  orders-")]
    assert names == [*(f"orders-{number}" for number in range(15)), "orders-150"]
    assert "  and 184 more topics" in [line.rstrip() for line in output]


def test_a_flow_that_is_stopped_has_no_time_that_it_is_up_and_says_who_stopped_it():
    status = FlowStatus("A->B", state="STOPPED", host="here", started_ms=1, beat_ms=4000)
    seen = Seen("A->B", "here", 5000, Desired.STOP, desired_by="ann@ops", status=status)
    look = FlowLook(FLOW, seen)
    output = printed(FlowView("A->B", look, look.health), terminal=False)
    assert [line for line in output if "up:" in line] == []
    assert output[-1] == "A->B: stopped by ann@ops; continue with `isthmus resume`"
    assert (look.alive_s, look.up_s) == (0, 4.999)  # a check still counts what was to be done


def test_a_driver_that_lives_is_up():
    status = FlowStatus("A->B", state="RUNNING", host="there", started_ms=1000, beat_ms=4000)
    look = FlowLook(FLOW, Seen("A->B", "here", 5000, status=status))
    assert (look.alive_s, printed(FlowView("A->B", look, look.health), terminal=False)[-1]) == (
        4,
        "up: A->B 4 s",
    )


def test_a_topic_that_is_gone_shows_its_state_and_no_lag():
    world = World(a_config())
    world.copy(records=100, end=100)
    gone = AbsentTopic("A->B", "orders", "SOURCE_DELETED", "deleted; the copy is kept", 7)
    world.target.write(status_topic("A"), gone)
    views = StatusView(world.config, world, world).look()
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render(views))
    row = next(each for each in console.export_text().splitlines() if "  orders" in each)
    assert row.split() == ["orders", "1", "100", "-", "-", "-", "-", "SOURCE_DELETED"]
    (flow,) = as_data(views)["flows"]
    (topic,) = flow["topics"]
    assert (topic["lag_records"], topic["lag_s"]) == (None, None)
    (part,) = topic["partitions"]
    assert (part["state"], part["reason"], part["lag_records"]) == (
        "SOURCE_DELETED",
        "deleted; the copy is kept",
        None,
    )


def test_bl_229_lag_that_is_not_known_is_no_number_and_says_since_when():
    world = World(a_config())
    world.copy(records=100, end=100)
    status = StatusView(world.config, world, world)
    assert as_data(status.look())["flows"][0]["topics"][0]["lag_unknown_since_ms"] is None
    world.origin.silent = True
    views = status.look()
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render(views))
    lines = console.export_text().splitlines()
    row = next(each for each in lines if "  orders" in each)
    assert row.split()[-2:] == ["?", "?"]
    assert any(each.startswith("A->B: lag is not known since ") for each in lines)
    assert "lag is not known since " in _line(views[0])
    (topic,) = as_data(views)["flows"][0]["topics"]
    assert (topic["lag_records"], topic["lag_s"]) == (None, None)
    assert topic["lag_unknown_since_ms"] > 0
    (part,) = topic["partitions"]
    assert (part["lag_records"], part["lag_s"]) == (None, None)
