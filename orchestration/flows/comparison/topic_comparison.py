"""Compares topics of two clusters, partition by partition, record by record."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from orchestration.flows.comparison.compared_partition import PartitionResult, TopicPair, Work
from orchestration.flows.comparison.compared_span import is_explained, span_of
from orchestration.flows.comparison.copy_positions import UNKNOWN, UNKNOWN_POSITION, LogStarts
from orchestration.flows.comparison.partition_records import PartitionRecords, every
from replication.adapters.topics.record_reader import RecordReader
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.compare_compacted import compare_compacted
from replication.records.comparison_result import Limits, NoCounterpart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orchestration.flows.comparison.compared_span import Span
    from orchestration.flows.comparison.copy_positions import CopyPositions
    from orchestration.flows.comparison.own_records import FlowRecordFilter
    from replication.adapters.topics.record_reader import ConsumedRecord
    from replication.records.comparison_result import Comparison

_ATTEMPTS = 3  # where retention deletes records while they are read
_MARKERS_S = 10.0  # how long a commit may take to reach all its partitions
_PAUSE_S = 0.05
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. By default the target is read as any consumer may read it."""

    isolation: str = COMMITTED  # of the source
    foreign_ok: bool = False  # records of other producers on the target are no difference
    limits: Limits = field(default_factory=Limits)
    concerns: Callable[[ConsumedRecord], bool] = every  # of either side: other records are skipped
    target_isolation: str = UNCOMMITTED
    tail: int | None = None  # only so many offsets before the copy's position; None: all
    parts: bool = False  # say which part of a record differs


class TopicComparer:
    """Compares topics of two clusters. The clients are librdkafka's settings.

    ``own`` selects the flow's records where others write to the same topics; only those count.
    ``positions`` say what is copied so far, and where retention has moved the logs' starts. Without
    them every record of the source must be on the target.
    Raises ClusterUnavailable or ClusterRejected, naming the cluster.
    """

    def __init__(
        self,
        clients: tuple[Mapping[str, Any], Mapping[str, Any]],
        options: Options,
        own: FlowRecordFilter | None = None,
        positions: CopyPositions | None = None,
    ) -> None:
        self._clients = clients
        self._options = options
        self._own = own
        self._positions = positions
        self._readers: dict[tuple[int, str], RecordReader] = {}

    def close(self) -> None:
        """Close all connections, those of ``own`` too."""
        if self._own is not None:
            self._own.close()
        self._close_readers()

    def _close_readers(self) -> None:
        for each in self._readers.values():
            each.close()
        self._readers.clear()

    def plan(self, pairs: Sequence[TopicPair]) -> list[Work]:
        """Return the partitions to compare, up to their present ends.

        Anchors are read first, then the target's ends, then the source's: what is copied meanwhile
        can only look as if it was in flight, and no copy lacks its original.
        """
        if self._positions is not None:
            self._positions.look()
        counts = {pair: self._partitions(pair) for pair in pairs}
        parts = [(pair, number) for pair, (s, t) in counts.items() for number in range(max(s, t))]
        begun = [self._begin(pair, number, counts[pair]) for pair, number in parts]
        return [self._with_source_end(each) for each in begun]

    def compare(self, work: Work, progress: Callable[[int], object]) -> PartitionResult:
        """Compare one partition; ``progress`` gets the records read since its last call.

        It is compared again where retention deleted, meanwhile, records that were then missed.
        """
        records = self._records(work)
        for _ in range(_ATTEMPTS - 1):
            span = self.span(work)
            result = self._once(replace(records), span, progress)
            if result.is_clean() or not self._was_deleted(work, span, result.comparison):
                return result
            self._close_readers()  # one reads a partition once
        return self._once(replace(records), self.span(work), progress)

    def span(self, work: Work) -> Span:
        """Return from where to compare, given the logs' first offsets now.

        Raises ClusterUnavailable or ClusterRejected.
        """
        starts = LogStarts(
            self._source.bounds(work.source).start if work.on_source else 0,
            self._target(work).bounds(work.target).start if work.on_target else 0,
        )
        if self._positions is None:
            return span_of(work, starts, None)
        known = work.copied.source is not None
        return span_of(
            work, starts, self._positions.begins(work.source, starts) if known else UNKNOWN
        )

    def _once(
        self, records: PartitionRecords, span: Span, progress: Callable[[int], object]
    ) -> PartitionResult:
        work, options = records.work, self._options
        source = records.of_source(self._source, span.begins.source, progress)
        target = records.of_target(self._target(work), span.begins.target)
        first = next(target, None)
        copies = chain([first] if first else [], target)
        timed = records.timed = first is None or not first.retimed
        if work.compacted:
            here, there = map(records.keyed, source), map(records.keyed, copies)
            known = replace(span.known, timed=timed)
            found = compare_compacted(here, there, known, work.compacted, options.limits)
        else:
            found = compare(
                map(records.plain, source),
                map(records.plain, copies),
                foreign_ok=options.foreign_ok,
                limits=options.limits,
                known=span.known,
            )
        for why, count in {
            **span.no_counterpart,
            NoCounterpart.OF_OTHERS: records.of_others,
        }.items():
            found.no_counterpart[why] += count
        return PartitionResult(work, found, timed, records.origins)

    def _was_deleted(self, work: Work, span: Span, found: Comparison) -> bool:
        """Say whether retention may explain what was found, as it has gone on since."""
        now = self.span(work)
        return now.starts != span.starts and is_explained(now, found)

    def _records(self, work: Work) -> PartitionRecords:
        """Return which records of a partition count."""
        own, concerns = self._own, self._options.concerns
        return PartitionRecords(
            work,
            concerns,
            own.of_source(work.source, work.source_end, work.copied.origins)
            if own and work.on_source
            else every,
            own.of_target(work.target, work.target_end) if own and work.on_target else every,
            parts=self._options.parts,
        )

    @property
    def _source(self) -> RecordReader:
        return self._reader(0, self._options.isolation)

    def _target(self, work: Work) -> RecordReader:
        committed = work.copied.transactional
        return self._reader(1, COMMITTED if committed else self._options.target_isolation)

    def _reader(self, side: int, isolation: str) -> RecordReader:
        if (side, isolation) not in self._readers:
            self._readers[side, isolation] = RecordReader(self._clients[side], isolation)
        return self._readers[side, isolation]

    def _partitions(self, pair: TopicPair) -> tuple[int, int]:
        source = self._source.partitions(pair.source)
        if source is None:
            raise ConfigError(
                f"comparing {pair.source}: the source cluster has no such topic; see isthmus plan "
                "FILE"
            )
        target = self._reader(1, self._options.target_isolation)
        return source, target.partitions(pair.target) or 0

    def _begin(self, pair: TopicPair, number: int, counts: tuple[int, int]) -> Work:
        """Return the work with the target's end."""
        source, target = (TopicPartition(each, number) for each in (pair.source, pair.target))
        here, there = (number < count for count in counts)
        copied = self._positions.copied(source, target) if self._positions else UNKNOWN_POSITION
        work = Work(source, target, 0, 0, 0, here, there, pair.compacted, copied)
        return replace(work, target_end=self._target_end(work)) if there else work

    def _target_end(self, work: Work) -> int:
        """Return the target's end; of transactions, the one that all commits so far have reached.

        A commit reaches the anchors' partition and those of the copies one after another.
        """
        reader = self._target(work)
        end = reader.bounds(work.target).end
        if work.copied.transactional:
            written = self._reader(1, UNCOMMITTED).bounds(work.target).end
            deadline = time.monotonic() + _MARKERS_S
            while end < written and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
                end = reader.bounds(work.target).end
        return end

    def _with_source_end(self, work: Work) -> Work:
        if not work.on_source:
            return work
        start, end = self._source.bounds(work.source)
        return replace(work, source_end=end, records=end - start)


def compare_topics(
    source: Mapping[str, Any],
    target: Mapping[str, Any],
    pairs: Sequence[TopicPair],
    options: Options | None = None,
) -> list[PartitionResult]:
    """Compare topics and return the result of each partition; every record must be there."""
    comparer = TopicComparer((source, target), options or Options())
    try:
        return [comparer.compare(work, lambda _: None) for work in comparer.plan(pairs)]
    finally:
        comparer.close()
