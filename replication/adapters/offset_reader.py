"""Translates a flow's offsets outside Spark: for the command, the driver and Dagster."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from replication.adapters.wire import connect
from replication.client.state_topic.state_log import StateLog
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    UNKNOWN_OFFSET,
    OffsetRange,
    TopicPartition,
)
from replication.offsets.flow_offsets import FlowOffsets, other_topic
from replication.offsets.known_points import KnownPoints
from replication.offsets.stored_answers import StoredAnswers
from replication.provenance.origins import Origins
from replication.state import PRODUCERS_TOPIC, anchors_topic, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence

    from replication.adapters.wire.network import WireNetwork
    from replication.client.cluster_ids import FlowClusters, Verify
    from replication.errors import ReplicationError
    from replication.offsets.counted_log import CountedLog
    from replication.offsets.flow_offsets import Answers
    from replication.offsets.groups.consumer_groups import CommitGroup, Group, Positions
    from replication.settings.flow_settings import Flow
    from replication.state import (
        GroupPositions,
        TransformVerified,
        Verification,
        VerifiedUpTo,
    )

    Found = TypeVar("Found")


class OffsetReader:
    """Answers for one flow; connections stay open between calls. Threads take turns.

    Raises ClusterUnavailable or ClusterRejected.
    """

    def __init__(self, flow: Flow, known: FlowClusters | None = None) -> None:
        """``known``: the ids of its clusters; answers of others are not used."""
        self.flow = flow
        self.known = KnownPoints(flow.name)
        # Why some were left out since the last look.
        self.errors: dict[TopicPartition, ReplicationError] = {}
        self._loop = asyncio.new_event_loop()
        self._turn = threading.Lock()
        verify_source, verify_target = (
            (None, None) if known is None else (known.verify_source, known.verify_target)
        )
        self.source = self._connect(flow.clients.source_consumer, verify_source)
        self.target = self._connect(flow.clients.target_producer, verify_target)
        # Points last: one that an anchor does not know of yet does no harm, one that is missing
        # costs counting.
        topics = (PRODUCERS_TOPIC, anchors_topic(flow.source), offsets_topic(flow.source))
        self._logs = [StateLog(self.target, each) for each in topics]
        self._stored = StoredAnswers()
        self._origins = Origins()  # of producer ids at the source
        self._registry = StateLog(self.source, PRODUCERS_TOPIC)

    def look(self) -> KnownPoints:
        """Read what the flow's units wrote since the last read."""
        self.run(self._look())
        return self.known

    def look_at_target(self) -> KnownPoints:
        """Read the same, but nothing of the source: it may be gone. Then nothing is translated."""
        self.run(self._look_at_target())
        return self.known

    async def _look_at_target(self) -> None:
        self.errors.clear()
        await _learn(self.known, self.target, self._logs)

    async def _look(self) -> None:
        await self._look_at_target()
        if any(each.origins for each in self.known.anchors.values()):
            # After the anchors: of all that was copied before them it is known whose it is (P1).
            await _learn(self._origins, self.source, [self._registry])

    @property
    def came_by(self) -> frozenset[str]:
        """Return the ids of the clusters that records of the source may have been on before.

        None are known of a flow that copies all that the source has.
        """
        return frozenset(e for each in self._origins.entries.values() for e in each.came_by)

    def translate(
        self,
        offsets: Mapping[TopicPartition, Collection[int]],
        *,
        back: bool = False,
        ahead: bool = True,
    ) -> Answers:
        """Return the answers, see FlowOffsets; as of the last ``look``.

        The producers of all read records are in the registry by then (F). One that was not known
        before would have been passed over, so then it is read again.
        """
        flow_offsets = self._flow_offsets()
        while True:
            known = len(self.known.producers)
            answers = self.run(flow_offsets.translate(offsets, back=back, ahead=ahead))
            self.run(self._look_at_producers())
            if len(self.known.producers) == known:
                return answers

    def _flow_offsets(self) -> FlowOffsets:
        return FlowOffsets(
            self.known, self.source, self.target, self._origins, self.errors, self._stored
        )

    def source_log(self, source: TopicPartition) -> CountedLog:
        """Return what reads a partition's records that are to be copied; as of the last look."""
        return self._flow_offsets().source_log(source, self.known.anchors[source])

    async def _look_at_producers(self) -> None:
        await _learn(self.known, self.target, self._logs[:1])

    def ends(
        self, partitions: Collection[TopicPartition], *, target: bool
    ) -> dict[TopicPartition, OffsetRange]:
        """Return the first offset and the end of partitions of one of the two clusters."""
        network = self.target if target else self.source
        return self.run(_bounds(network, sorted(partitions)))

    def source_offsets(
        self, partitions: Collection[TopicPartition], at_ms: int
    ) -> dict[TopicPartition, int | None]:
        """Return the first offset of each with a timestamp from ``at_ms`` on; None: none has."""
        return self.run(self._source_offsets(sorted(partitions), at_ms))

    async def _source_offsets(
        self, partitions: Sequence[TopicPartition], at_ms: int
    ) -> dict[TopicPartition, int | None]:
        await self.source.refresh({each.topic for each in partitions})
        found = await asyncio.gather(*(self.source.offset_at(each, at_ms) for each in partitions))
        known = (None if offset == UNKNOWN_OFFSET else offset for offset in found)
        return dict(zip(partitions, known, strict=True))

    def target_logs(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetRange | str]:
        """Return the bounds of target partitions; of those without the flow's copy, why not.

        As of the last ``look``. The source is not asked: it may be gone.
        """
        return self.run(self._target_logs(partitions))

    async def _target_logs(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetRange | str]:
        ids = {
            TopicPartition(each.target_topic, each.partition): each.target_topic_id
            for each in self.known.anchors.values()
        }
        await self.target.refresh({each.topic for each in partitions})
        reasons = {
            each: other_topic("target", self.target, each.topic, ids[each])
            if each in ids
            else f"is not in a partition that {self.flow.name} copies to"
            for each in partitions
        }
        there = sorted(each for each, reason in reasons.items() if not reason)
        return {**reasons, **await _bounds(self.target, there)}

    def remember(self, groups: Sequence[GroupPositions]) -> None:
        """Store the offsets of groups at the source, for a time when it does not answer."""
        self.run(self._logs[-1].append(groups))

    def remember_verified(
        self, positions: Sequence[VerifiedUpTo | TransformVerified], last: Verification | None
    ) -> None:
        """Store up to where copies were verified, and how the verification of all topics ended."""
        _, anchors, offsets = self._logs
        self.run(offsets.append(positions))
        if last is not None:
            self.run(anchors.append([last]))

    def groups(self, *, target: bool) -> GroupClient:
        """Return the groups of one of the two clusters."""
        return GroupClient(self, self.target if target else self.source)

    def run(self, work: Coroutine[object, object, Found]) -> Found:
        """Run something on the reader's event loop, to which its networks belong."""
        with self._turn:
            return self._loop.run_until_complete(work)

    def close(self) -> None:
        """Close all connections."""
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        await asyncio.gather(self.source.close(), self.target.close())
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _connect(self, properties: Mapping[str, str], verify: Verify | None) -> WireNetwork:
        return connect(properties, f"isthmus-offsets-{self.flow.name}", verify)


async def _learn(
    learner: KnownPoints | Origins, network: WireNetwork, logs: Sequence[StateLog]
) -> None:
    """Let ``learner`` have the records since the last read; a missing topic has none.

    It has those of one topic before the next is read: no record is read twice, and that may fail.
    """
    await network.refresh({each.topic for each in logs})
    for each in logs:
        if network.topic_id(each.topic) is not None:
            learner.learn(await each.read_on())


async def _bounds(
    network: WireNetwork, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetRange]:
    starts = await asyncio.gather(
        *(network.offset_at(each, EARLIEST_TIMESTAMP) for each in partitions)
    )
    ends = await asyncio.gather(*(network.offset_at(each, LATEST_TIMESTAMP) for each in partitions))
    return dict(zip(partitions, map(OffsetRange, starts, ends), strict=True))


@dataclass(frozen=True, slots=True)
class GroupClient:
    """The groups of one cluster, read over a reader's connections."""

    reader: OffsetReader
    network: WireNetwork

    @property
    def unavailable(self) -> Mapping[int, str]:
        return self.network.groups.unavailable

    @property
    def unreadable(self) -> Mapping[str, str]:
        return self.network.groups.unreadable

    def listed(self) -> Mapping[str, Group]:
        return self.reader.run(self._listed())

    def positions(self, groups: Iterable[Group]) -> Mapping[str, Positions]:
        return self.reader.run(self.network.groups.positions(groups))

    def commit(self, plan: Sequence[CommitGroup]) -> Mapping[str, ReplicationError]:
        return self.reader.run(self.network.groups.commit(plan))

    async def _listed(self) -> Mapping[str, Group]:
        await self.network.refresh(())  # which brokers there are
        return await self.network.groups.listed()
