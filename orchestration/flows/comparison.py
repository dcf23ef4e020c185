"""Compares topics of two clusters, partition by partition, record by record."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from replication.adapters.topics.record_reader import RecordReader
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.provenance.record_headers import ORIGIN
from replication.records.compare import compare
from replication.records.comparison_result import Fingerprint, Limits, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from orchestration.flows.own_records import OwnRecords
    from replication.adapters.topics.record_reader import Record
    from replication.records.comparison_result import Comparison

_PROGRESS_EVERY = 1_000  # records between two calls of ``progress``


class TopicPair(NamedTuple):
    """A topic and its name on the target."""

    source: str
    target: str


def _print(record: Record, *, timed: bool) -> Fingerprint:
    """Return a record's fingerprint, without the provenance header that a copy may have."""
    headers = [each for each in record.headers if each[0] != ORIGIN]
    time_ms = record.time[0] if timed else None
    return Fingerprint(record.offset, fingerprint(record.key, record.value, headers, time_ms))


def _any(_: Record) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. The target is always read uncommitted: as any consumer may read it."""

    isolation: str = "read_committed"  # of the source
    foreign_ok: bool = False  # records of other producers on the target are no difference
    limits: Limits = field(default_factory=Limits)
    concerns: Callable[[Record], bool] = _any  # of either side: other records are skipped
    # By source partition, where copies begin whose topic had another name on the target before.
    begins: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """One partition to compare, with its end offsets on both sides at the start."""

    source: TopicPartition
    target: TopicPartition
    source_end: int  # 0 where exists is no such partition
    target_end: int
    records: int  # on the source, roughly: control records and compacted ones count too
    begin: tuple[int, int] = (0, 0)  # offsets at which the copy in this target topic begins


class Result(NamedTuple):
    """The result of one partition."""

    work: Work
    comparison: Comparison
    timed: bool = True  # False: the target sets its append time, so timestamps are not compared


class TopicComparer:
    """Compares topics of two clusters. The clients are librdkafka's settings.

    ``own`` selects the flow's records where others write to the same topics; only those count.
    Raises ClusterUnavailable or ClusterRejected, naming the cluster.
    """

    def __init__(
        self,
        source: Mapping[str, Any],
        target: Mapping[str, Any],
        options: Options,
        own: OwnRecords | None = None,
    ) -> None:
        self._source = RecordReader(source, options.isolation)
        self._target = RecordReader(target, "read_uncommitted")
        self._options = options
        self._own = own

    def close(self) -> None:
        """Close all connections."""
        if self._own is not None:
            self._own.close()
        self._source.close()
        self._target.close()

    def plan(self, pairs: Sequence[TopicPair]) -> list[Work]:
        """Return the partitions to compare, up to their present ends.

        The target's ends are read before the source's: records that are copied meanwhile can only
        look late, never extra.
        """
        counts = {pair: self._partitions(pair) for pair in pairs}
        parts = [(pair, number) for pair, (s, t) in counts.items() for number in range(max(s, t))]
        ends = [
            self._target.bounds(TopicPartition(pair.target, number))[1]
            if number < counts[pair][1]
            else 0
            for pair, number in parts
        ]
        return [
            self._work(pair, number, end, exists=number < counts[pair][0])
            for (pair, number), end in zip(parts, ends, strict=True)
        ]

    def compare(self, work: Work, progress: Callable[[int], object]) -> Result:
        """Compare one partition; ``progress`` gets the records read since its last call."""
        own = self._own
        copied = own.of_source(work.source, work.source_end) if own else _any
        appended = own.of_target(work.target, work.target_end) if own else _any
        source = self._records(
            self._source, work.source, (work.begin[0], work.source_end), progress
        )
        target = self._records(
            self._target, work.target, (work.begin[1], work.target_end), lambda _: None
        )
        first = next(target, None)
        timed = first is None or not first.retimed
        found = compare(
            (_print(each, timed=timed) for each in source if copied(each)),
            (
                _print(e, timed=timed)
                for e in chain([first] if first else [], target)
                if appended(e)
            ),
            foreign_ok=self._options.foreign_ok,
            limits=self._options.limits,
        )
        return Result(work, found, timed)

    def _records(
        self,
        reader: RecordReader,
        partition: TopicPartition,
        offsets: tuple[int, int],
        progress: Callable[[int], object],
    ) -> Iterator[Record]:
        begin, end = offsets
        if end <= begin:
            return
        unreported = 0
        for record in reader.read(partition, end, begin):
            if self._options.concerns(record):
                yield record
            unreported += 1
            if unreported == _PROGRESS_EVERY:
                progress(unreported)
                unreported = 0
        progress(unreported)

    def _partitions(self, pair: TopicPair) -> tuple[int, int]:
        source = self._source.partitions(pair.source)
        if source is None:
            raise ConfigError(f"comparing {pair.source}: the source cluster has no such topic")
        return source, self._target.partitions(pair.target) or 0

    def _work(self, pair: TopicPair, number: int, target_end: int, *, exists: bool) -> Work:
        source = TopicPartition(pair.source, number)
        start, end = self._source.bounds(source) if exists else (0, 0)
        target = TopicPartition(pair.target, number)
        begin = self._options.begins.get(source, (0, 0))
        records = max(0, end - max(start, begin[0]))
        return Work(source, target, end, target_end, records, begin)


def compare_topics(
    source: Mapping[str, Any],
    target: Mapping[str, Any],
    pairs: Sequence[TopicPair],
    options: Options | None = None,
) -> list[Result]:
    """Compare topics and return the result of each partition."""
    comparer = TopicComparer(source, target, options or Options())
    try:
        return [comparer.compare(work, lambda _: None) for work in comparer.plan(pairs)]
    finally:
        comparer.close()
