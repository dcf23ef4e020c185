"""Background tasks in the table of ``isthmus status``."""

from __future__ import annotations

import io

from rich.console import Console
from support.builders import a_config
from support.fake_flows import World

from orchestration.cli.flows.table import render
from orchestration.flows.observe import FlowLook
from orchestration.flows.status_view import FlowView, StatusView, as_data
from replication.settings.sections import Flow, FlowClients
from replication.state import AbsentTopic, FlowStatus, TaskReport, status_topic
from replication.supervision.health import Health, Seen

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
