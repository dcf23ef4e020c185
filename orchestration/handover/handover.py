"""Takes flows over from MirrorMaker 2, and hands them back: checks, plans, writes offsets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.flows.intents import write_intent
from orchestration.flows.observation.flow_reader import look_at
from orchestration.handover.mm2_snapshot import Mm2Activity, Mm2Snapshot
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.clock import now_ms
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    ConfigError,
    FlowTaken,
    WrongCluster,
)
from replication.mm2.internal_topics_protocol import BY_KEY, InternalTopicRecord
from replication.mm2.progress import StoredOffset
from replication.mm2.takeover import TakeOver, Unproven, anchor_after, explain, handed_back
from replication.model import Desired, FlowState, TopicPartition
from replication.state import anchors_topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.mm2.takeover import Step
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor

_SILENT_MS = 15_000  # a driver writes its status once a second
_HALTED = (FlowState.STOPPED, FlowState.PAUSED)
UNPROVEN_HELP = "--search reads more records, --trust-stored takes MirrorMaker 2's stored offset"
_OFFSETS_PARTITIONS = 25  # as Connect creates that topic


@dataclass(frozen=True, slots=True)
class TakeoverFinding:
    """The findings about one flow: why MirrorMaker 2 counts as stopped, and the steps."""

    flow: Flow
    silence: tuple[str, ...]
    stored: int  # positions that MirrorMaker 2 has
    steps: tuple[Step, ...]

    def unproven(self, *, trust: bool) -> tuple[Unproven, ...]:
        """Return the partitions whose position is not known. ``trust``: a stored one is known."""
        steps = (_trusted(each) if trust else each for each in self.steps)
        return tuple(each for each in steps if isinstance(each, Unproven))


def stopped_anchors(flow: Flow, clusters: ClusterClients) -> dict[TopicPartition, Anchor]:
    """Return the anchors of a flow that does not run. Raises FlowTaken if it does.

    Raises WrongCluster where an address leads to another cluster than the flow copied between.
    """
    look = look_at(flow, clusters)
    if look.seen.wrong_cluster:
        raise WrongCluster(f"{flow.name}: {look.seen.wrong_cluster}")
    if look.seen.target_silence is not None:
        raise ClusterUnavailable(f"{flow.name}: {look.seen.target_silence}")
    _require_stopped(flow, look)
    return {TopicPartition(each.topic, each.partition): each for each in look.seen.anchors}


def _require_stopped(flow: Flow, look: FlowLook) -> None:
    status = look.seen.status
    if status is None or status.state in _HALTED:
        return
    if look.seen.now_ms - status.beat_ms < _SILENT_MS:
        raise FlowTaken(f"{flow.name} is {status.state}: stop it first: isthmus stop FILE -f "
                        f"'{flow.name}'")  # fmt: skip


def examine_flow(flow: Flow, config: Config, watch_s: float, search: int) -> TakeoverFinding:
    """Check that MirrorMaker 2 is silent for ``watch_s``; find each partition's position.

    Raises ClusterRejected if it is not silent.
    """
    snapshot = Mm2Snapshot(flow, config)
    before, begun = snapshot.activity(now_ms()), time.monotonic()
    stored = snapshot.stored()
    time.sleep(max(0.0, watch_s - (time.monotonic() - begun)))
    silence = require_silence(flow, before, snapshot.activity(now_ms()), watch_s)
    steps = tuple(snapshot.steps(stored, search))
    _require_no_writes(flow, before, snapshot.activity(now_ms()))
    return TakeoverFinding(flow, silence, len(stored), steps)


def require_silence(
    flow: Flow, before: Mm2Activity, after: Mm2Activity, watch_s: float
) -> tuple[str, ...]:
    """Return why MirrorMaker 2 counts as stopped. Raises ClusterRejected if it runs."""
    group = f"group {flow.mm2.worker_group} on {flow.target}"
    if after.workers:
        raise ClusterRejected(
            f"{flow.name}: MirrorMaker 2 runs: {after.workers} members in {group}; stop it (a "
            "killed member is listed until its session times out, about 10 s)"
        )
    if after.beat_ms is not None and after.beat_ms < watch_s * 1000:
        raise ClusterRejected(
            f"{flow.name}: MirrorMaker 2 or Isthmus still writes heartbeats of this flow to topic "
            f"heartbeats on {flow.target}, the last {after.beat_ms / 1000:.1f} s ago: stop it"
        )
    _require_no_writes(flow, before, after)
    members = (
        f"{group} has no members" if after.workers == 0 else f"no permission to describe {group}"
    )
    return (
        members,
        f"no heartbeat of {flow.name} for {watch_s:g} s",
        f"no record written to {len(after.ends)} target partitions for {watch_s:g} s",
    )


def _require_no_writes(flow: Flow, before: Mm2Activity, after: Mm2Activity) -> None:
    grown = [part for part, end in after.ends.items() if end != before.ends.get(part, end)]
    if grown:
        raise ClusterRejected(
            f"{flow.name}: a producer writes to {min(grown)} on {flow.target}: stop MirrorMaker 2 "
            "and all other producers of the target topics for the takeover"
        )


def take_over(
    found: TakeoverFinding,
    anchors: dict[TopicPartition, Anchor],
    clusters: ClusterClients,
    *,
    trust: bool,
) -> int:
    """Write the anchors; return how many. ``trust``: use stored positions that are not verified.

    Raises ClusterRejected where the position of a partition is not known.
    """
    if unproven := found.unproven(trust=trust):
        raise ClusterRejected(
            f"{found.flow.name}: {unproven[0].ends.source}: {unproven[0].why}; nothing was "
            f"changed. {UNPROVEN_HELP}"
        )
    steps = (_trusted(each) for each in found.steps)
    taken = [each for each in steps if isinstance(each, TakeOver)]
    store, name = clusters.store(found.flow), found.flow.name
    store.ensure_topics(found.flow.source)
    now = now_ms()
    made = [anchor_after(name, each, anchors.get(each.ends.source), now) for each in taken]
    store.write(anchors_topic(found.flow.source), *made)
    return len(made)


def _trusted(step: Step) -> Step:
    if not isinstance(step, Unproven) or step.stored is None:
        return step
    return TakeOver(step.ends, step.stored, step.stored + 1, "as stored, not verified")


@dataclass(frozen=True, slots=True)
class Return:
    """A partition to hand back: its anchor, and the offset that MirrorMaker 2 has stored."""

    anchor: Anchor
    partition: TopicPartition
    next: int
    before: int | None

    def explain(self) -> str:
        before = "none" if self.before is None else str(self.before)
        return (
            f"{self.partition}: continues at offset {self.next}; the stored offset becomes "
            f"{self.next - 1} (now: {before})"
        )


def plan_return(
    flow: Flow, config: Config, anchors: Mapping[TopicPartition, Anchor], search: int
) -> list[Return]:
    """Return the offsets to store for MirrorMaker 2. Raises ClusterRejected if it runs.

    A partition that stopped cleanly is at its anchor's position; that of another one is found by
    content, as for MirrorMaker 2: an anchor may lag.
    """
    if flow.naming.kind == "rename":
        raise ConfigError(
            f"{flow.name}: MirrorMaker 2 cannot name topics as topics.rename.* does, so the flow "
            "cannot be handed back: let MirrorMaker 2 copy to topics of its own names"
        )
    snapshot = Mm2Snapshot(flow, config)
    if number := snapshot.workers():
        raise ClusterRejected(
            f"{flow.name}: MirrorMaker 2 runs: {number} members in group {flow.mm2.worker_group} "
            f"on {flow.target}; it reads stored offsets only at its start: stop it"
        )
    stored = snapshot.stored()
    ours = {where: each for where, each in anchors.items() if each.source}
    places = {where: each.source or 0 for where, each in ours.items()}
    unsettled = {where: places[where] - 1 for where, each in ours.items() if not each.clean}
    for step in snapshot.steps(unsettled, search, only=unsettled):
        if not isinstance(step, TakeOver):
            raise ClusterRejected(f"{flow.name}: {explain(step)}; nothing was changed")
        places[step.ends.source] = step.next
    return [Return(ours[where], where, at, stored.get(where)) for where, at in places.items()]


def hand_back(
    flow: Flow, config: Config, returns: Sequence[Return], clusters: ClusterClients
) -> None:
    """Stop the flow, write its positions for MirrorMaker 2, then mark the anchors handed back."""
    write_intent(flow, Desired.STOP, clusters)
    topic = flow.mm2.offsets_topic
    admin = KafkaAdmin(to_librdkafka(flow.clients.target_admin))
    if topic not in admin.topic_names():
        replicas = max(1, min(flow.state_replication_factor, admin.broker_count()))
        admin.create_topic(topic, _OFFSETS_PARTITIONS, replicas, {"cleanup.policy": "compact"})
    snapshot = Mm2Snapshot(flow, config)
    offsets = [
        StoredOffset(flow.source, each.partition, each.next - 1, name)
        for name in snapshot.connectors()
        for each in returns
    ]
    snapshot.internal.write(
        topic, [InternalTopicRecord(e.key(), e.value(), partition=BY_KEY) for e in offsets]
    )
    now = now_ms()
    clusters.store(flow).write(
        anchors_topic(flow.source),
        *(handed_back(each.anchor, each.next, now) for each in returns),
    )
