"""Jobs about one flow: what they change, and what they say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs import desired_state
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.recovery_jobs import WhichFailback, WhichSwitchover
from replication.clock import now_ms
from replication.model import PartitionState
from replication.recovery.switchover import SwitchoverOptions
from replication.state import Anchor, Decision, Intent, anchors_topic, status_topic

if TYPE_CHECKING:
    import dagster as dg

JOBS = flow_jobs(["A->B"])


@pytest.fixture
def world() -> World:
    found = World(a_config())
    found.watched = found.driven = {"B"}
    found.copy(records=10, end=10)
    return found


def run(world: World, job: str, config: dict | None = None):
    (op,) = JOBS[job].graph.node_defs
    return JOBS[job].execute_in_process(
        run_config={"ops": {op.name: {"config": config}}} if config else None,
        partition_key="A->B",
        resources={"isthmus": FakeIsthmus.of(world)},
        raise_on_error=False,
    )


def printed(ended) -> dict[str, dg.MetadataValue]:
    """Return the metadata of the observation, which must be that of the output."""
    (output,) = ended.get_step_success_events() and [
        each.event_specific_data.metadata
        for each in ended.all_events
        if each.event_type_value == "STEP_OUTPUT"
    ]
    (observed,) = [
        each.asset_observation_data.asset_observation
        for each in ended.all_events
        if each.event_type_value == "ASSET_OBSERVATION"
    ]
    assert observed.asset_key == stream_key("A->B")
    assert dict(observed.metadata) == dict(output)
    return output


def desired(world: World) -> str:
    return world.target.read(status_topic("A"))[Intent("A->B").key()].desired


def obeys(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the driver reach the desired state after the first look."""
    looks = desired_state.desired_and_actual_state

    def look(chosen):
        found = looks(chosen)
        if Intent("A->B").key() in world.target.read(status_topic("A")):
            state = {"pause": "PAUSED", "run": "RUNNING", "stop": "STOPPED"}[desired(world)]
            world.copy(records=10, end=10, state=state)
        return found

    monkeypatch.setattr(desired_state, "desired_and_actual_state", look)
    monkeypatch.setattr(desired_state, "_POLL_S", 0.01)


def test_a_pause_and_a_resume_wait_until_they_are_in_effect_and_say_what_changed(
    world, monkeypatch
):
    obeys(world, monkeypatch)
    assert printed(run(world, "pause_flow"))["changed"].value == (
        "desired state run -> pause; state RUNNING -> PAUSED"
    )
    assert desired(world) == "pause"
    assert printed(run(world, "resume_flow"))["changed"].value == (
        "desired state pause -> run; state PAUSED -> RUNNING"
    )
    assert printed(run(world, "resume_flow"))["changed"].value == (
        "the desired state was run already; state RUNNING"
    )


def test_a_pause_that_no_driver_obeys_is_written_and_says_so(world, monkeypatch):
    monkeypatch.setattr(desired_state, "EFFECT_S", 0.0)
    text = printed(run(world, "pause_flow"))["changed"].value
    assert text.startswith("desired state run -> pause; not in effect after 0 s: state RUNNING")
    assert desired(world) == "pause"


def test_a_paused_flow_is_not_restarted(world):
    world.target.write(status_topic("A"), Intent("A->B", "pause"))
    ended = run(world, "restart_flow")
    (failed,) = [each for each in ended.all_events if each.is_step_failure]
    why = failed.step_failure_data.user_failure_data.description
    assert why == "A->B: the desired state is pause: resume it instead"
    assert (world.started, world.stopped) == ([], [])


def test_a_restart_stops_the_application_then_starts_it_and_says_from_which_generation_to_which(
    world, monkeypatch
):
    start = world.start

    def started(app):
        world.copy(records=10, end=10, age_s=-1, generation=5)
        return start(app)

    monkeypatch.setattr(world, "start", started)
    world.copy(records=10, end=10, generation=4)
    text = printed(run(world, "restart_flow"))["changed"].value
    assert text == "application B restarted: generation 4 -> 5; flows A->B"
    assert (world.stopped, world.started) == (["B"], ["B"])


def halted(world: World) -> None:
    lost = PartitionState.TARGET_RESET
    world.target.write(
        anchors_topic("A"),
        Anchor("A->B", "orders", 0, "A.orders", 10, 10, state=lost, reason="it was emptied",
               at_ms=now_ms()),
        Anchor("A->B", "stock", 1, "A.stock", 7, 7, state=PartitionState.RUNNING, at_ms=now_ms()),
    )  # fmt: skip


def test_halted_partitions_are_listed_by_default_and_nothing_is_changed(world):
    halted(world)
    found = printed(run(world, "resolve_partitions"))
    assert found["changed"].value == "nothing was changed; 1 partitions are halted"
    (row,) = found["details"].records
    assert (row.data["partition"], row.data["choices"]) == ("orders-0", "continue or reseed")
    assert not any(isinstance(e, Decision) for e in world.target.read(status_topic("A")).values())


def test_a_choice_for_halted_partitions_is_written_as_a_decision_on_that_event(world):
    halted(world)
    found = printed(run(world, "resolve_partitions", {"choice": "RESEED", "topic": "orders"}))
    assert found["changed"].value == "1 of 1 halted partitions: reseed"
    (decision,) = [
        e for e in world.target.read(status_topic("A")).values() if isinstance(e, Decision)
    ]
    assert (decision.topic, decision.partition, decision.choice) == ("orders", 0, "reseed")


def test_a_topic_that_the_flow_does_not_copy_cannot_be_resolved(world):
    halted(world)
    ended = run(world, "resolve_partitions", {"topic": "order"})
    (failed,) = [each for each in ended.all_events if each.is_step_failure]
    why = failed.step_failure_data.user_failure_data.description
    assert why == "A->B: no topic 'order'; there is orders, stock"


@pytest.mark.parametrize("kind", [WhichSwitchover, WhichFailback])
def test_how_clients_are_moved_is_set_alike_and_as_for_the_command(kind):
    assert kind().options() == SwitchoverOptions()
    reported = kind(timeout_s=60, quiet_s=1.5, deny_writes=True, leave=["g"]).options(tail=7)
    assert reported == SwitchoverOptions(60, 1.5, deny_writes=True, tail=7, leave=frozenset("g"))
