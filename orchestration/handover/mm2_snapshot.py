"""Reads whether MirrorMaker 2 works on a flow, and the position of each partition."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.worker_group import workers
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.adapters.topics.record_reader import RecordReader
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.mm2.heartbeats import ages
from replication.mm2.progress import connectors, newest, positions
from replication.mm2.proof import furthest
from replication.mm2.takeover import EndOffsets, Step, TakeOver, Unproven, decide
from replication.model import TopicPartition
from replication.naming.internal_topics import HEARTBEATS
from replication.naming.selection import TopicSelector
from replication.records.comparison_result import Fingerprint, fingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Mapping

    from replication.adapters.topics.record_reader import ConsumedRecord
    from replication.client.admin import TopicInfo
    from replication.mm2.progress import StoredOffset
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_FIRST_LOOK = 2_000  # records; enough after a clean stop with all records copied
_AT_ONCE = 8  # partitions


class Mm2Activity(NamedTuple):
    """Figures that change while MirrorMaker 2 works for a flow."""

    workers: int | None  # None: no permission
    beat_ms: int | None  # age of its newest heartbeat
    ends: Mapping[TopicPartition, int]  # of the copies


class Mm2Snapshot:
    """Both clusters of a flow. Raises ClusterUnavailable or ClusterRejected."""

    def __init__(self, flow: Flow, config: Config) -> None:
        self.flow = flow
        self._source = to_librdkafka(flow.clients.source_consumer)
        self._target = to_librdkafka(flow.clients.target_admin)
        # MirrorMaker 2 reads uncommitted records unless the file says otherwise.
        self._isolation = flow.clients.source_consumer.get("isolation.level", "read_uncommitted")
        self._selector = TopicSelector.for_flow(flow, config.clusters)
        self._ours = KafkaAdmin(self._target)
        self._theirs = KafkaAdmin(to_librdkafka(flow.clients.source_admin))
        self.internal = InternalTopicClient(self._target, self._ours)

    def stored(self) -> dict[TopicPartition, int]:
        """Return the positions that MirrorMaker 2's source connector has stored."""
        return positions(self._stored(), self.flow.source)

    def connectors(self) -> tuple[str, ...]:
        """Return the names of the source connectors that have stored positions."""
        return connectors(self._stored(), self.flow.source)

    def _stored(self) -> Collection[StoredOffset]:
        return newest(self.internal.read(self.flow.mm2.offsets_topic)).values()

    def activity(self, now_ms: int) -> Mm2Activity:
        """Read workers, heartbeats and end offsets now."""
        beats = ages("", HEARTBEATS, self.internal.read(HEARTBEATS, last=1000), now_ms)
        mine = [each.ms for each in beats if (each.source, each.target) == self._pair]
        pairs = self._pairs(self._theirs.topics(), self._ours.topics())
        copies = [copy for _, copy in pairs]
        return Mm2Activity(self.workers(), min(mine, default=None), self._ours.end_offsets(copies))

    @property
    def _pair(self) -> tuple[str, str]:
        return self.flow.source, self.flow.target

    def workers(self) -> int | None:
        """Return the number of its workers; None: no permission."""
        try:
            return workers(self.flow.clients.target_admin, self.flow.mm2.worker_group)
        except ClusterRejected:
            return None

    def _pairs(
        self, theirs: Mapping[str, TopicInfo], ours: Mapping[str, TopicInfo]
    ) -> Iterator[tuple[TopicPartition, TopicPartition]]:
        """Yield the partitions that exist on both sides."""
        for topic in self._selector.selected(theirs):
            copy = self._selector.remote_topic(topic)
            there = ours[copy].partitions if copy in ours else 0
            for number in range(min(theirs[topic].partitions, there)):
                yield TopicPartition(topic, number), TopicPartition(copy, number)

    def steps(
        self,
        stored: Mapping[TopicPartition, int],
        search: int,
        only: Container[TopicPartition] | None = None,
    ) -> Iterator[Step]:
        """Yield the step of each partition, verified by at most ``search`` of its records."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(
                lambda ends: self._step(ends, stored.get(ends.source), search),
                [each for each in self._ends() if only is None or each.source in only],
            )

    def _ends(self) -> Iterator[EndOffsets]:
        """Yield the start and end offsets of each partition on both sides."""
        theirs, ours = self._theirs.topics(), self._ours.topics()
        reader, copies = self._readers()
        raw = RecordReader(self._target, "read_uncommitted")
        try:
            for source, target in self._pairs(theirs, ours):
                end = raw.bounds(target)[1]
                start, committed = copies.bounds(target)
                if committed < end:
                    raise ClusterUnavailable(
                        f"{target} at {self.flow.target} has an open transaction at {committed}: "
                        "try again when it has timed out"
                    )
                ids = theirs[source.topic].topic_id, ours[target.topic].topic_id
                yield EndOffsets(source, target, *ids, *reader.bounds(source), start, end)
        finally:
            for each in (reader, copies, raw):
                each.close()

    def _step(self, ends: EndOffsets, stored: int | None, search: int) -> Step:
        step = self._proven(ends, stored, min(search, _FIRST_LOOK))
        settled = isinstance(step, TakeOver) and (
            ends.target_end - ends.target_start <= _FIRST_LOOK or step.next >= ends.source_end
        )
        return step if settled or search <= _FIRST_LOOK else self._proven(ends, stored, search)

    def _proven(self, ends: EndOffsets, stored: int | None, most: int) -> Step:
        """Decide by the last ``most`` records of the copy and the source around ``stored``."""
        at = max(ends.source_start, 0 if stored is None else stored)
        reader, copies = self._readers()  # for one partition once: see RecordReader
        try:
            tail = list(map(_both_prints, copies.read(
                ends.target, ends.target_end, ends.target_end - most)))  # fmt: skip
            timed = all(each.timed for each in tail)
            stop = min(ends.source_end, at + 1 + most)
            there = reader.read(ends.source, stop, max(0, at - most))
            source = [_print(each, timed=timed) for each in there]
        finally:
            reader.close()
            copies.close()
        copy = [each.with_time if timed else each.without for each in tail]
        proof = furthest(copy, source, stored)
        if proof.foreign and stop < ends.source_end and source and proof.last == source[-1].offset:
            reason = (
                f"the target has records after source offset {proof.last}, where the search ended"
            )
            return Unproven(ends, stored, f"{reason}; search more records with --search")
        return decide(ends, stored, copy, source, proof)

    def _readers(self) -> tuple[RecordReader, RecordReader]:
        return (
            RecordReader(self._source, self._isolation),
            RecordReader(self._target, "read_committed"),
        )


class _BothFingerprints(NamedTuple):
    """A record's fingerprints, kept without the record; ``timed``: its time is the producer's."""

    timed: bool
    with_time: Fingerprint
    without: Fingerprint


def _both_prints(record: ConsumedRecord) -> _BothFingerprints:
    return _BothFingerprints(
        not record.retimed,
        _print(record, timed=True),
        _print(record, timed=False),
    )


def _print(record: ConsumedRecord, *, timed: bool) -> Fingerprint:
    """Return the record's fingerprint; ``timed`` includes its timestamp."""
    time_ms = record.time[0] if timed else None
    return Fingerprint(
        record.offset, fingerprint(record.key, record.value, record.headers, time_ms)
    )
