"""Topics as partitions of their flow's asset: new ones, gone ones, changed states. Pure.

A topic that is copied is materialized; one that is not is observed, with state and reason. Only
changes are events, and for plots the figures of one topic a minute, in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

import dagster as dg

from orchestration.dagster.assets import topic_partitions, topics_key
from replication.model import PartitionState
from replication.supervision.partition_states import by_state, needing_no_action, worst

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from orchestration.dagster.reports import FlowReport
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.state import Anchor

EVENTS_MAX = 50  # of a tick, which an event delays by 30 ms; the rest comes with the next ones
NOT_RUNNING_MAX = 200  # are remembered; the flow's check counts all
REFRESH_MS = 60_000
COPIED_CHECK = "all_topics_copied"

Requests = list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]


@dataclass(frozen=True, slots=True)
class TopicMemory:
    """What was reported of a flow's topics; part of the sensor's cursor, safe to lose."""

    not_running: Mapping[str, str] = field(default_factory=dict)  # topic: state
    refreshed: str = ""  # the topic whose figures were reported last
    refreshed_ms: int = 0
    states: str = ""  # a digest of all topics that are not RUNNING, with their states

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**stored)


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as its partitions are: RUNNING if all are, else the state of the worst."""

    topic: str
    anchors: tuple[Anchor, ...]

    @property
    def worst(self) -> Anchor:
        return worst(self.anchors)

    @property
    def state(self) -> str:
        return str(self.worst.state)


@dataclass(frozen=True, slots=True)
class TopicChanges:
    """The events about a flow's topics that are due, and what Dagster knows then."""

    events: list[dg.AssetMaterialization | dg.AssetObservation]
    requests: Requests
    memory: TopicMemory


def topic_states(anchors: Iterable[Anchor]) -> dict[str, TopicState]:
    """Return the topics of a flow, by name, sorted."""
    found: dict[str, list[Anchor]] = {}
    for each in anchors:
        found.setdefault(each.topic, []).append(each)
    return {name: TopicState(name, tuple(found[name])) for name in sorted(found)}


def topic_changes(
    report: FlowReport, known: Collection[str], last: TopicMemory, *, may_refresh: bool
) -> TopicChanges:
    """Return what is new of a flow's topics. ``known``: the partitions that Dagster has now.

    While the target does not answer nothing is known, and nothing changes.
    """
    flow, seen = report.look.flow.name, report.look.seen
    if seen.target_silence is not None:
        return TopicChanges([], [], last)
    topics = topic_states(seen.anchors)  # a pause is no news of each topic
    new = [each for each in topics if each not in known][:EVENTS_MAX]
    changed = [name for name in _changed(topics, last, known) if name not in new]
    reported = [*new, *changed][:EVENTS_MAX]
    memory = replace(
        last,
        not_running=_remembered(topics, last, reported),
        refreshed_ms=seen.now_ms if reported else last.refreshed_ms,
        states=_digest(report.look),
    )
    turn = _next_turn(topics, last) if may_refresh and topics and not reported else None
    if turn is not None:
        memory = replace(memory, refreshed=turn, refreshed_ms=seen.now_ms)
        reported = [turn]
    gone = [each for each in known if each not in topics]
    definition = topic_partitions(flow)
    requests: Requests = [definition.build_add_request(new)] if new else []
    requests += [definition.build_delete_request(gone)] if gone else []
    return TopicChanges([_event(report, topics[each]) for each in reported], requests, memory)


def refreshing(memories: Mapping[str, TopicMemory], now_ms: int) -> str | None:
    """Return the flow that may report the figures of a topic now: all flows take turns."""
    if not memories or now_ms - max(e.refreshed_ms for e in memories.values()) < REFRESH_MS:
        return None
    return min(memories, key=lambda each: (memories[each].refreshed_ms, each))


def copied_verdict(look: FlowLook) -> tuple[bool, str]:
    """Return whether all topics of a flow are copied that are to be copied, and the reason.

    It names each state but RUNNING, and of a failure the reason of a topic in each.
    """
    topics = topic_states(look.anchors).values()
    no_action = needing_no_action(look.flow.policies)
    odd = [each for each in topics if each.state != PartitionState.RUNNING]
    bad = [each for each in odd if each.state not in no_action]
    rest = by_state((each.topic, each.state) for each in odd if each.state in no_action)
    if not bad:
        copied = f"{len(topics) - len(odd)} topics are copied"
        return True, "; ".join(filter(None, (copied, rest)))
    reasons = {each.state: each.worst.reason for each in reversed(bad)}
    named = by_state(((each.topic, each.state) for each in bad), reasons)
    failed = f"{len(bad)} of {len(topics)} topics are not copied: {named}"
    return False, "; need no action: ".join(filter(None, (failed, rest)))


def _digest(look: FlowLook) -> str:
    odd = sorted(
        (each.topic, each.state)
        for each in topic_states(look.anchors).values()
        if each.state != PartitionState.RUNNING
    )
    return f"{crc32(repr(odd).encode()):x}" if odd else ""


def _changed(
    topics: Mapping[str, TopicState], last: TopicMemory, known: Collection[str]
) -> Sequence[str]:
    """Return the topics whose state differs from the one that was reported."""
    running = str(PartitionState.RUNNING)
    return [
        name
        for name, each in topics.items()
        if name in known and each.state != last.not_running.get(name, running)
    ]


def _remembered(
    topics: Mapping[str, TopicState], last: TopicMemory, reported: Collection[str]
) -> dict[str, str]:
    """Return the states that are known by now; those of topics that run are left out."""
    states = {
        name: each.state if name in reported else last.not_running.get(name, "")
        for name, each in topics.items()
    }
    bad = [(name, state) for name, state in states.items() if state not in ("", "RUNNING")]
    return dict(bad[:NOT_RUNNING_MAX])


def _next_turn(topics: Mapping[str, TopicState], last: TopicMemory) -> str:
    """Return the topic whose figures are next, in the order of the names."""
    return next((each for each in topics if each > last.refreshed), next(iter(topics)))


def _event(report: FlowReport, topic: TopicState) -> dg.AssetMaterialization | dg.AssetObservation:
    key, metadata = topics_key(report.look.flow.name), topic_metadata(report, topic)
    if topic.state == PartitionState.RUNNING:
        return dg.AssetMaterialization(key, partition=topic.topic, metadata=metadata)
    reason = f"{topic.state}: {topic.worst.reason}"
    return dg.AssetObservation(key, partition=topic.topic, description=reason, metadata=metadata)


def topic_metadata(report: FlowReport, topic: TopicState) -> dict[str, Any]:
    """Return the figures of one topic; numbers are plotted over time."""
    lag, point = report.lag.topic(topic.topic), report.point.topic(topic.topic)
    found: dict[str, Any] = {
        "state": topic.state,
        "on target": topic.anchors[0].target_topic,
        "partitions": len(topic.anchors),
        "records copied": sum(each.records for each in topic.anchors),
        "RPO in records": point.records,
        "RPO in seconds": float(point.seconds),
    }
    if lag.seconds is not None:
        found |= {"lag in records": lag.records, "lag in seconds": float(lag.seconds)}
    if topic.worst.reason:
        found["reason"] = topic.worst.reason
    return found
