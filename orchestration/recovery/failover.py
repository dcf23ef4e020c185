"""Plans and carries out a failover: its steps on the flow's clusters."""

from __future__ import annotations

import time
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orchestration.flows.intents import signature, write_intent
from orchestration.flows.observe import now_ms
from orchestration.recovery.group_actions import group_actions, on_target, selected
from orchestration.recovery.operator import Operator
from orchestration.recovery.report import FailoverReport
from replication.client.state_log import StateLog
from replication.errors import ClusterRejected, ConfigError
from replication.model import NO_PRODUCER_ID, Desired, FlowState, TopicPartition
from replication.offsets.consumer_groups import CommitGroup
from replication.offsets.counted_log import CountedLog
from replication.planning.explain import counted
from replication.recovery.flow_fence import Appenders, FenceResult, fence_flow
from replication.recovery.group_positions import group_positions
from replication.recovery.procedure import (
    RUNNING,
    failover_steps,
    is_left_stopped,
    open_since,
    stopped_by,
)
from replication.recovery.proven_positions import prove_positions, proven
from replication.state import (
    PRODUCERS_TOPIC,
    FlowStatus,
    Operation,
    ProducerEntry,
    ProvenPosition,
    anchors_topic,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orchestration.flows.observe import Clusters
    from replication.adapters.offset_reader import OffsetReader
    from replication.offsets.group_sync import GroupSync
    from replication.settings.sections import Config, Flow

_STOP_S = 40.0  # an epoch's end, the last responses, the last anchors
_SILENT_S = 8.0  # a driver writes its status every second
_POLL_S = 0.3


@dataclass(slots=True)
class Failover:
    """One failover of a flow: to the cluster that it copies to. The source is not asked anything.

    Every step may be carried out twice.
    """

    flow: Flow
    clusters: Clusters
    operator: Operator
    reader: OffsetReader
    sync: GroupSync
    _fence: FenceResult = field(default_factory=FenceResult)

    def preview(self) -> FailoverReport:
        """Return what a failover would find now; change nothing.

        The positions are those of the anchors: what was copied after them is not counted.
        """
        known = self.reader.look_at_target()
        positions = tuple(
            proven("", anchor)
            for _, anchor in sorted(known.anchors.items())
            if anchor.source is not None
        )
        return self._report(positions)

    def refuse_if_open(self) -> None:
        """Raise ConfigError if the target is open already, by an earlier failover."""
        last = self.operator.last()
        since = open_since(last, self.flow.target)
        if since and last is not None and last.state != RUNNING:
            raise ConfigError(f"{self.flow.name}: {since}: nothing to do")

    def carry_out(self) -> FailoverReport:
        """Carry out the steps that are left; return what was found. Raises ReplicationError."""
        works = {
            "stop": self._stop,
            "fence": self._fence_producers,
            "prove positions": self._prove,
            "set groups": self._set_groups,
            "open target": self._open,
        }
        self.operator.take("failover", {})
        steps = failover_steps(self.flow.name, self.flow.target)
        done = self.operator.carry_out(steps, works)
        return replace(self._report(self._proven(done.id)), operation=done)

    def undo(self) -> str:
        """Close the target again and let the flow run. Raises ClusterRejected if clients wrote."""
        last = self.operator.last()
        if last is not None and is_left_stopped(last, self.operator.intent()):
            return self._resume()
        if last is None or last.writable != self.flow.target:
            raise ConfigError(f"{self.flow.name}: {self.flow.target} is not open by a failover")
        own = self._isthmus_producers()
        for each in self._proven(last.id):
            where = TopicPartition(each.target_topic, each.partition)
            log = CountedLog(self.reader.target, where, lambda batch: batch.producer_id not in own)
            self.reader.run(self.reader.target.refresh([where.topic]))
            written = self.reader.run(count_records(log, each.target))
            if written:
                raise ClusterRejected(
                    f"{self.flow.name}: clients wrote {counted(written, 'record')} to {where} on "
                    f"{self.flow.target} since the failover: they would be behind what the flow "
                    "copies next; nothing was changed"
                )
        self.operator.close(last)
        return self._resume()

    def _resume(self) -> str:
        write_intent(self.flow, Desired.RUN, self.clusters)
        return f"{self.flow.target} is closed again, and {self.flow.name} will run within seconds"

    # -- steps -------------------------------------------------------------------------------

    def _stop(self, operation: Operation) -> str:
        """Stop the flow; wait for its driver, unless it is silent."""
        by = f"{signature()}, {stopped_by(operation)}"
        write_intent(self.flow, Desired.STOP, self.clusters, by=by)
        begun = moved = time.monotonic()
        status = first = self._status()
        while status is not None and status.state != FlowState.STOPPED:
            now = time.monotonic()
            if status != first:
                first, moved = status, now
            if now - moved > _SILENT_S:
                return f"the driver on {status.host} is silent: it did not stop {self.flow.name}"
            if now - begun > _STOP_S:
                return f"the driver on {status.host} did not stop {self.flow.name} in {_STOP_S:g} s"
            time.sleep(_POLL_S)
            status = self._status()
        return f"{self.flow.name} is stopped"

    def _fence_producers(self, _: Operation) -> str:
        """Fence what may append, if a unit did not end cleanly."""
        topic = anchors_topic(self.flow.source)
        log = StateLog(self.reader.target, topic)
        self.reader.run(self.reader.target.refresh([topic]))
        seen = Appenders(self.flow.name)
        seen.learn(self.reader.run(log.read_on()))
        if not seen.unclean:
            self._fence = FenceResult({}, seen.anchors)
            return f"all units of {self.flow.name} ended cleanly: no producer may append"
        generation = self._outrank(seen)
        log = StateLog(self.reader.target, topic)
        work = fence_flow(self.flow.name, self.reader.target, log, generation)
        self._fence = self.reader.run(work)
        names = counted(len(self._fence.markers), "producer")
        parts = counted(len(self._fence.unclean), "partition")
        return f"fenced {names} of {self.flow.name} in {parts}"

    def _outrank(self, seen: Appenders) -> int:
        """Take the flow's lease, as stopped; return its generation. A driver that lives ends."""
        status = self._status() or FlowStatus(self.flow.name)
        generation = seen.above(status.generation)
        mine = FlowStatus(
            self.flow.name, FlowState.STOPPED, generation, "operator", signature(),
            started_ms=now_ms(), beat_ms=now_ms(), reason="stopped by a failover",
        )  # fmt: skip
        self.operator.store.write(status_topic(self.flow.source), mine)
        return generation

    def _prove(self, operation: Operation) -> str:
        """Write each partition's proven position; one that was written before stays."""
        if not self._fence.anchors:  # another operator did the step before
            self._fence_producers(operation)
        known = self.reader.look_at_target()
        work = prove_positions(operation.id, self._fence, self.reader.target, known.producers)
        found = self.reader.run(work)
        there = {(each.topic, each.partition) for each in self._proven(operation.id)}
        new = [each for each in found if (each.topic, each.partition) not in there]
        self.operator.store.write(status_topic(self.flow.source), *new)
        inexact = sum(not each.exact for each in found)
        doubt = f", of {inexact} only the least is known" if inexact else ""
        return f"proved the positions of {counted(len(found), 'partition')}{doubt}"

    def _set_groups(self, operation: Operation) -> str:
        """Commit the groups' offsets on the target. Raises ClusterRejected if brokers refuse."""
        report = self._report(self._proven(operation.id))
        commits = [each for each in report.actions if isinstance(each, CommitGroup)]
        refused = self.sync.target.commit(commits)
        if refused:
            raise ClusterRejected("; ".join(f"group {g}: {why}" for g, why in refused.items()))
        names = {each.group for each in report.groups}
        left = f"; {counted(len(report.left), 'position')} left" if report.left else ""
        return f"set the offsets of {len(commits)} of {counted(len(names), 'group')}{left}"

    def _open(self, _: Operation) -> str:
        self.operator.amend(writable=self.flow.target)
        return f"{self.flow.target} is open for clients; next: point producers and consumers to it"

    # -- what is there -----------------------------------------------------------------------

    def _status(self) -> FlowStatus | None:
        records = self.operator.store.read(status_topic(self.flow.source)).values()
        mine = (e for e in records if isinstance(e, FlowStatus) and e.flow == self.flow.name)
        return next(mine, None)

    def _isthmus_producers(self) -> set[int]:
        """Return the producer ids of all flows: others may be merged into the same topics.

        Records without a producer id count as those of clients.
        """
        registry = self.operator.store.read(PRODUCERS_TOPIC).values()
        theirs = {each.producer_id for each in registry if isinstance(each, ProducerEntry)}
        return (self.reader.look_at_target().producers | theirs) - {NO_PRODUCER_ID}

    def _proven(self, operation: str) -> tuple[ProvenPosition, ...]:
        records = self.operator.store.read(status_topic(self.flow.source)).values()
        return tuple(
            each
            for each in records
            if isinstance(each, ProvenPosition)
            and (each.flow, each.operation) == (self.flow.name, operation)
        )

    def _report(self, positions: Sequence[ProvenPosition]) -> FailoverReport:
        """Return the report for these positions, with what is still to be set of groups."""
        known = self.reader.look_at_target()
        by_partition = {TopicPartition(each.topic, each.partition): each for each in positions}
        stored = selected(known.groups.values(), self.flow)
        found = tuple(group_positions(stored, known, by_partition))
        groups = on_target(found, self.reader.target_logs({each.target for each in found}))
        actions = group_actions(groups, self.sync)
        return FailoverReport(self.flow.name, tuple(positions), groups, actions)


@contextmanager
def opened_failover(
    flow: Flow, config: Config, clusters: Clusters, say: Callable[[str], None]
) -> Iterator[Failover]:
    """Give the failover of a flow; its connections are closed afterwards."""
    from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - on first use
    from replication.adapters.offset_reader import opened_sync  # noqa: PLC0415 - on first use
    from replication.adapters.topics.state_store import StateStore  # noqa: PLC0415 - on first use

    store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
    try:
        with opened_sync(flow, config) as (sync, reader):
            yield Failover(flow, clusters, Operator(flow, store, say), reader, sync)
    finally:
        store.close()


async def count_records(log: CountedLog, begin: int) -> int:
    """Return how many records of a log count, from ``begin`` to its end."""
    async with aclosing(log.spans(begin)) as spans:
        return sum([len(each) async for each in spans])
