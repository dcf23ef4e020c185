"""Counts lost, repeated and altered records, by the delivery guarantee of each partition."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.topics.chaos_topics import Promise, as_it_is
from orchestration.flows.comparison.compared_partition import PartitionResult, TopicPair, Work
from orchestration.flows.comparison.topic_comparison import (
    COMMITTED,
    UNCOMMITTED,
    Options,
    compare_topics,
)
from replication.adapters.topics.record_reader import RecordReader
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.comparison_result import DifferenceKind, Fingerprint, fingerprint

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from chaos.done import Done
    from chaos.topics.chaos_topics import ChaosTopic
    from replication.adapters.topics.record_reader import ConsumedRecord
    from replication.records.comparison_result import Comparison


@dataclass(slots=True)
class ChaosVerdict:
    """The sum over all topics."""

    records: int = 0  # on the source
    lost: int = 0
    repeated: int = 0
    different: int = 0  # altered, misplaced, or on the target without ever having been written
    excused: int = 0  # repeated where that is allowed
    notes: list[str] = field(default_factory=list)  # a line for each partition that is not equal

    @property
    def right(self) -> bool:
        return self.records > 0 and not (self.lost or self.repeated or self.different)

    def add(self, result: PartitionResult, promise: Promise) -> None:
        """Take in what was found in one partition."""
        found = result.comparison
        self.records += found.source_records
        self.lost += found.count(DifferenceKind.LOST)
        self.different += sum(
            found.count(kind)
            for kind in (
                DifferenceKind.DIFFERENT,
                DifferenceKind.OUT_OF_ORDER,
                DifferenceKind.EXTRA,
            )
        )
        if promise is Promise.AT_LEAST_ONCE:
            self.excused += found.count(DifferenceKind.REPEATED)
        else:
            self.repeated += found.count(DifferenceKind.REPEATED)
        if not found.is_clean():
            kinds = [f"{n.count} {kind} {n.examples}" for kind, n in found.found.items() if n.count]
            self.notes.append(f"{result.work.target}: {', '.join(kinds)}")


def judge(
    topics: Iterable[ChaosTopic],
    alias: str,
    clients: tuple[Mapping[str, str], Mapping[str, str]],
    done: Done,
    reseeded: Container[TopicPartition],
) -> ChaosVerdict:
    """Compare all topics, the source read committed and the target as any consumer may read it.

    Topics that are compacted, or were for a while, are copied in transactions, and so are those
    that are transformed: there the target is read committed too. Of ``reseeded`` partitions (of the
    source) an operator has said that all is copied again.
    """
    verdict = ChaosVerdict()
    for topic in topics:
        if topic.made is not as_it_is:
            _judge_results(verdict, topic, alias, clients, reseeded)
            continue
        compacted = done.sides(topic)
        pair = TopicPair(topic.name, f"{alias}.{topic.name}", compacted)
        committed = compacted or topic.in_transactions
        options = Options(target_isolation=COMMITTED if committed else UNCOMMITTED)
        for result in compare_topics(*clients, [pair], options):
            again = result.work.source in reseeded
            verdict.add(result, Promise.AT_LEAST_ONCE if again else topic.promise)
    return verdict


def _judge_results(
    verdict: ChaosVerdict,
    topic: ChaosTopic,
    alias: str,
    clients: tuple[Mapping[str, str], Mapping[str, str]],
    reseeded: Container[TopicPartition],
) -> None:
    """Compare what a transform must make of a topic's records with what it made, both committed."""
    here, there = (RecordReader(each, COMMITTED) for each in clients)
    with closing(here), closing(there):
        for number in range(here.partitions(topic.name) or 0):
            source = TopicPartition(topic.name, number)
            target = TopicPartition(f"{alias}.{topic.name}", number)
            ends = here.bounds(source).end, there.bounds(target).end
            found = compare_results(topic, here.read(source, ends[0]), there.read(target, ends[1]))
            work = Work(source, target, *ends, ends[0])
            again = Promise.AT_LEAST_ONCE if source in reseeded else topic.promise
            verdict.add(PartitionResult(work, found), again)


def compare_results(
    topic: ChaosTopic, source: Iterable[ConsumedRecord], target: Iterable[ConsumedRecord]
) -> Comparison:
    """Compare what the topic's transform must make of these records with what is on the target."""
    made = (each for each in map(topic.made, source) if each is not None)
    return compare(map(_fingerprint, made), map(_fingerprint, target))


def _fingerprint(record: ConsumedRecord) -> Fingerprint:
    key, value, headers, time = record[1:]
    return Fingerprint(record.offset, fingerprint(key, value, headers, time[0]))
