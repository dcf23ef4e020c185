"""Background tasks in the table of ``isthmus status``."""

from __future__ import annotations

import io
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from support.fakes.fake_flows import World
from support.settings.configs import a_config, a_flow

from orchestration.cli.flows.status import unwell
from orchestration.cli.flows.table import render
from orchestration.cli.local.live import _line
from orchestration.flows.observation.flow_look import FlowLook
from orchestration.flows.status_view import FlowView, StatusView, TopicView, as_data
from replication.model import Desired, TopicPartition
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.mm2_settings import GroupSettings
from replication.state import (
    AbsentTopic,
    Anchor,
    FlowStatus,
    GroupPositions,
    TaskReport,
    anchors_topic,
    offsets_topic,
    status_topic,
)
from replication.supervision.flow_figures import CounterSample
from replication.supervision.health import FlowObservation, Health
from replication.supervision.lag import FlowLag

if TYPE_CHECKING:
    from replication.adapters.followed_file import FileInForce

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
FLOW = Flow(source="A", target="B", clients=CLIENTS)
WELL = TaskReport("A->B", "heartbeats", 1000, ok=True, summary="beat", took_ms=3)
FAILING = TaskReport("A->B", "group offsets", 2000, ok=False, summary="B is silent")


def a_view(*tasks, reason=""):
    status = FlowStatus("A->B", state="RUNNING", reason=reason, partitions=1)
    look = FlowLook(FLOW, FlowObservation("A->B", "here", 5000, status=status), tasks=tasks)
    return FlowView("A->B", look, Health("RUNNING", healthy=True, reason=""))


def test_a_task_that_fails_has_a_line_of_its_own_and_others_have_none():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(render((a_view(WELL, FAILING),)))
    output = console.export_text()
    assert "A->B group offsets: B is silent" in output
    assert "heartbeats" not in output


def test_all_tasks_are_in_the_data_for_scripts():
    (flow,) = as_data((a_view(WELL, FAILING),))["flows"]
    assert flow["background_tasks"][0] == {
        "name": "heartbeats",
        "ok": True,
        "summary": "beat",
        "at_ms": 1000,
        "took_ms": 3,
    }
    assert [each["ok"] for each in flow["background_tasks"]] == [True, False]
    assert flow["duties"] == flow["background_tasks"], "the name of earlier releases"


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
    assert names == [*(f"orders-{number}" for number in range(14)), "orders-150"]
    assert "  and 185 more topics" in [line.rstrip() for line in output]


def test_a_flow_that_is_stopped_has_no_time_that_it_is_up_and_says_who_stopped_it():
    status = FlowStatus("A->B", state="STOPPED", host="here", started_ms=1, beat_ms=4000)
    seen = FlowObservation("A->B", "here", 5000, Desired.STOP, desired_by="ann@ops", status=status)
    look = FlowLook(FLOW, seen)
    output = printed(FlowView("A->B", look, look.health), terminal=False)
    assert [line for line in output if "up:" in line] == []
    assert output[-1] == "A->B: stopped by ann@ops; continue with `isthmus resume FILE --flow A:B`"
    assert (look.alive_s, look.up_s) == (0, 4.999)  # a check still counts what was to be done


def test_a_driver_that_lives_is_up():
    status = FlowStatus("A->B", state="RUNNING", host="there", started_ms=1000, beat_ms=4000)
    look = FlowLook(FLOW, FlowObservation("A->B", "here", 5000, status=status))
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


def a_world_with_a_group() -> World:
    """Return a flow that has copied 100 of 107 records; group shop has read 103 of them."""
    flow = a_flow().model_copy(update={"groups": GroupSettings(sync=True)})
    world = World(a_config(flow))
    world.copy(records=100, end=107)
    (anchor,) = world.target.topics[anchors_topic("A")].values()
    world.target.write(anchors_topic("A"), replace(anchor, source_end=105, bytes=2000))
    stored = [GroupPositions("A->B", name, (("orders", 0, 103),), 7) for name in ("shop", "gone-x")]
    world.target.write(offsets_topic("A"), *stored)
    return world


def shown(views) -> list[str]:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(render(views))
    return console.export_text().splitlines()


def test_what_a_failover_would_lose_is_a_number_for_flow_topic_and_group():
    world = a_world_with_a_group()
    flow = world.config.flows[0]
    selection = flow.selection.model_copy(update={"groups_exclude": ("gone.*",)})
    world.config = a_config(flow.model_copy(update={"selection": selection}))
    views = StatusView(world.config, world, world).look()
    (found,) = as_data(views)["flows"]
    point = found["recovery_point"]
    assert (point["records"], point["bytes"], point["unknown_since_ms"]) == (7, 140, None)
    (group,) = point["groups"]
    assert (group["group"], group["records"], group["bytes"]) == ("shop", 4, 80)
    (topic,) = found["topics"]
    assert (topic["rpo_records"], topic["rpo_bytes"], topic["rpo_unknown_since_ms"]) == (
        7,
        140,
        None,
    )
    assert [each["rpo_records"] for each in topic["partitions"]] == [7]
    lines = shown(views)
    assert any(each.startswith("RPO: A->B 7 records, about 140 bytes, ") for each in lines)
    assert "A->B: RPO of groups, in records: shop 4" in [each.rstrip() for each in lines]


def test_while_the_source_is_silent_it_is_as_last_seen_and_says_since_when():
    world = a_world_with_a_group()
    world.origin.silent = True
    views = StatusView(world.config, world, world).look()
    (found,) = as_data(views)["flows"]
    assert found["recovery_point"]["records"] == 5
    assert found["recovery_point"]["unknown_since_ms"] > 0
    assert [each["records"] for each in found["recovery_point"]["groups"]] == [2, 2]
    (line,) = [each for each in shown(views) if each.startswith("RPO: ")]
    assert "RPO: A->B 5 records, about 100 bytes, 0.0 s when last seen, not known since " in line


def test_a_partition_that_lost_its_position_is_part_of_what_would_be_lost():
    world = a_world_with_a_group()
    lost = Anchor("A->B", "orders", 1, "A.orders", None, None, state="POSITION_LOST")
    world.target.write(anchors_topic("A"), lost)
    world.origin.ends[TopicPartition("orders", 1)] = 5
    views = StatusView(world.config, world, world).look()
    (line,) = [each for each in shown(views) if each.startswith("RPO: ")]
    assert "and all of 1 partition without a position" in line


def test_of_many_groups_those_that_lose_most_are_shown():
    world = a_world_with_a_group()
    more = [GroupPositions("A->B", f"g{n}", (("orders", 0, 90 + n),), 7) for n in range(12)]
    world.target.write(offsets_topic("A"), *more)
    lines = shown(StatusView(world.config, world, world).look())
    (line,) = [each for each in lines if "RPO of groups" in each]
    assert line.rstrip().endswith("g0 7, g1 7, g10 7, g2 7, g3 7, and 9 more groups")


class File:
    """A file that tests edit."""

    def __init__(self, world: World) -> None:
        self.world = world

    def look(self) -> FileInForce:
        return self.world.reading


def test_a_broken_file_is_said_once_for_all_flows_whose_settings_stay_in_force():
    world = World(a_config(a_flow(), a_flow("C", "B")))
    status = StatusView(world.config, world, world, File(world))
    world.problem = "f.properties:3: topcs: unknown key → was topics meant?"
    world.read_ms = 1_000
    output = " ".join(shown(status.look()))
    assert output.count(world.problem) == 1
    assert "A->B, C->B: the edited file is not in force: f.properties:3" in output
    assert "read at 1970-01-01 00:00:01 UTC stay in force" in output
    data = as_data(status.look())
    assert (data["file_in_force"], data["flows"][0]["file"]["in_force"]) == (False, False)
    assert world.problem in unwell(status.look())


def test_a_driver_that_runs_by_other_settings_is_said_and_an_edit_is_followed():
    world = World(a_config())
    world.watched = world.driven = {"B"}
    world.copy(records=5, end=5, host=socket.gethostname(), config="other", config_read_ms=1_000)
    status = StatusView(world.config, world, world, File(world))
    (view,) = status.look()
    assert view.is_older
    assert "A->B: the driver follows the file as read at 1970-01-01 00:00:01" in " ".join(
        shown([view])
    )
    world.copy(records=5, end=5, host=socket.gethostname(), config=world.reading.fingerprint)
    assert not status.look()[0].is_older
    world.config = a_config(a_flow(), a_flow("C", "B"))
    assert [each.name for each in status.look()] == ["A->B", "C->B"]


def test_what_keeps_a_flow_below_its_budget_is_in_the_data():
    world = World(a_config())
    world.copy(records=1, end=1, target_throttled_ms=9_500, backed_off_to=70_000)
    (flow,) = as_data(StatusView(world.config, world, world).look())["flows"]
    assert flow["byte_rate"] == {
        "throttled_by_source_ms": 0,
        "throttled_by_target_ms": 9_500,
        "backed_off_to": 70_000,
        "disk_limit": None,
    }
