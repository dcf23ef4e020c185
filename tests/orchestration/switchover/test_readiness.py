"""Why a flow's clients cannot be moved, and who keeps them from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.settings.configs import a_flow

from orchestration.flows.observation.flow_look import FlowLook
from orchestration.switchover.readiness import halted_by_denial, problems
from orchestration.switchover.switchover_report import still_writing
from replication.model import Desired, FlowState, PartitionState, TopicPartition
from replication.recovery.source_writers import Writer
from replication.state import Anchor, FlowStatus
from replication.supervision.health import FlowObservation

RUNNING = FlowObservation(
    "A->B",
    "here",
    now_ms=10_000,
    status=FlowStatus("A->B", FlowState.RUNNING, 1, host="here", beat_ms=9_500),
    anchors=(Anchor("A->B", "t", 0, "t", 3, 3, state=PartitionState.RUNNING),),
    driver=True,
)


def found(**changes) -> str:
    return "; ".join(problems(FlowLook(a_flow(), replace(RUNNING, **changes))))


def an_anchor(state: str) -> Anchor:
    return replace(RUNNING.anchors[0], state=state, reason="why")


def test_nothing_stands_against_a_flow_that_copies_all_partitions():
    assert found() == ""


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"source_silence": "A is silent", "driver": False}, "A is silent"),
        (
            {"desired": Desired.PAUSE, "desired_by": "ada"},
            "A->B has the desired state pause, set by ada: isthmus resume FILE",
        ),
        ({"driver": False}, "no driver runs A->B: start it"),
        ({"status": None}, "no driver runs A->B: start it"),
        (
            {"anchors": (an_anchor("LOST_RANGE"),)},
            "t-0 is LOST_RANGE, why: see isthmus status FILE",
        ),
        ({"anchors": (an_anchor("WAITING"),)}, "t-0 is WAITING, why: see isthmus status FILE"),
        (
            {"anchors": (an_anchor("SOURCE_DENIED"),)},
            "t is SOURCE_DENIED: grant Isthmus' user READ on it on A, and let it catch up",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_it_is_said_what_stands_against_it(changes, reported):
    assert found(**changes).startswith(reported)


def test_a_batch_flow_needs_no_driver_until_it_is_run():
    between = replace(RUNNING, driver=False, status=None, is_batch=True)
    flow = a_flow().model_copy(update={"mode": "batch"})
    assert list(problems(FlowLook(flow, between))) == []


def test_a_topic_that_is_not_copied_any_more_is_no_obstacle():
    assert found(anchors=(an_anchor("SOURCE_DELETED"),)) == ""


def test_of_many_partitions_some_are_named():
    assert "and 3 more partitions not RUNNING" in found(anchors=(an_anchor("REFUSED"),) * 8)


@pytest.mark.parametrize(
    ("topics", "desired", "halts"),
    [
        ({"t", "u"}, Desired.RUN, True),
        ({"u"}, Desired.RUN, False),
        ({"t"}, Desired.PAUSE, False),
    ],
    ids=["copies there", "copies elsewhere", "paused"],
)
def test_a_flow_that_copies_to_topics_whose_writes_are_denied_is_to_be_paused(
    topics, desired, halts
):
    look = FlowLook(a_flow("B", "A"), replace(RUNNING, flow="B->A", desired=desired))
    reported = "".join(halted_by_denial([look], topics))
    assert reported.startswith("B->A copies to t on A and would halt") is halts
    assert bool(reported) is halts


def test_who_still_writes_is_told_by_partition():
    one, two = TopicPartition("t", 0), TopicPartition("t", 1)
    writers = [
        Writer(two, 7, 1, 8, 0),
        Writer(one, None, -1, 5, 0),
        Writer(two, 9, 0, 9, 0, "C->A"),
    ]
    assert still_writing(writers, {7: "till-3"}, "A") == (
        "producers still write to A: a producer without producer id wrote in t-0 up to offset 5; "
        "producer id 7 epoch 1, transactional id till-3 wrote in t-1 up to offset 8; "
        "flow C->A wrote in t-1 up to offset 9. Stop them, or deny their writes with --deny-writes"
    )


def test_an_open_transaction_is_told_as_such():
    writer = Writer(TopicPartition("t", 0), 7, 1, 8, 0, open_transaction=True)
    assert "producer id 7 epoch 1 has a transaction open in t-0" in still_writing([writer], {}, "A")
