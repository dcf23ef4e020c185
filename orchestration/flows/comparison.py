"""Compares topics of two clusters, partition by partition: the user's own proof of a copy."""

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

_TELL_EVERY = 1_000  # records between two calls of ``progress``


class TopicPair(NamedTuple):
    """A topic and what it is called on the target."""

    source: str
    target: str


def _print(record: Record, *, timed: bool) -> Fingerprint:
    """Return a record's fingerprint, without the header that a copy may have more."""
    headers = [each for each in record.headers if each[0] != ORIGIN]
    time_ms = record.time[0] if timed else None
    return Fingerprint(record.offset, fingerprint(record.key, record.value, headers, time_ms))


def _any(_: Record) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. The target is always read uncommitted: as any consumer may read it."""

    isolation: str = "read_committed"  # of the source
    foreign_ok: bool = False  # other writers' records on the target are no fault
    limits: Limits = field(default_factory=Limits)
    concerns: Callable[[Record], bool] = _any  # of either side: others are passed over


@dataclass(frozen=True, slots=True)
class Work:
    """One partition to compare, and where it ended on either side at the start."""

    source: TopicPartition
    target: TopicPartition
    source_end: int  # 0 where there is no such partition
    target_end: int
    records: int  # on the source, roughly: control records and compacted ones count too


class Result(NamedTuple):
    """What was found in one partition."""

    work: Work
    comparison: Comparison
    timed: bool = True  # False: the target gives records its own time, so times do not count


class TopicComparer:
    """Compares topics of two clusters. The clients are librdkafka's settings.

    ``own`` tells what is the flow's where others write into the same topics: only that counts.
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

        The target's ends are taken before the source's: what is copied meanwhile can only look
        late, never extra.
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
            self._work(pair, number, end, there=number < counts[pair][0])
            for (pair, number), end in zip(parts, ends, strict=True)
        ]

    def compare(self, work: Work, progress: Callable[[int], object]) -> Result:
        """Compare one partition; ``progress`` hears how many more source records were read."""
        own = self._own
        copied = own.of_source(work.source, work.source_end) if own else _any
        appended = own.of_target(work.target, work.target_end) if own else _any
        source = self._records(self._source, work.source, work.source_end, progress)
        target = self._records(self._target, work.target, work.target_end, lambda _: None)
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
        end: int,
        progress: Callable[[int], object],
    ) -> Iterator[Record]:
        if end == 0:
            return
        untold = 0
        for record in reader.read(partition, end):
            if self._options.concerns(record):
                yield record
            untold += 1
            if untold == _TELL_EVERY:
                progress(untold)
                untold = 0
        progress(untold)

    def _partitions(self, pair: TopicPair) -> tuple[int, int]:
        source = self._source.partitions(pair.source)
        if source is None:
            raise ConfigError(f"comparing {pair.source}: the source cluster has no such topic")
        return source, self._target.partitions(pair.target) or 0

    def _work(self, pair: TopicPair, number: int, target_end: int, *, there: bool) -> Work:
        source = TopicPartition(pair.source, number)
        start, end = self._source.bounds(source) if there else (0, 0)
        target = TopicPartition(pair.target, number)
        return Work(source, target, end, target_end, end - start)


def compare_topics(
    source: Mapping[str, Any],
    target: Mapping[str, Any],
    pairs: Sequence[TopicPair],
    options: Options | None = None,
) -> list[Result]:
    """Compare topics and return what was found in each partition."""
    comparer = TopicComparer(source, target, options or Options())
    try:
        return [comparer.compare(work, lambda _: None) for work in comparer.plan(pairs)]
    finally:
        comparer.close()
