"""Counts lost, repeated and altered records, by the delivery guarantee of each topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from chaos.topics import Promise
from orchestration.flows.comparison import TopicPair, compare_topics
from replication.adapters.topics.record_reader import RecordReader
from replication.model import TopicPartition
from replication.records.comparison_result import Kind, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chaos.topics import Topic
    from orchestration.flows.comparison import Result


class Seen(NamedTuple):
    """A record as a compacted topic is judged by: its key, and all that a consumer sees of it."""

    key: bytes | None
    content: int


@dataclass(slots=True)
class Verdict:
    """The sum over all topics."""

    records: int = 0  # on the source
    lost: int = 0
    repeated: int = 0
    different: int = 0  # altered, misplaced, or on the target without ever having been written
    excused: int = 0  # repeated where that is allowed
    notes: list[str] = field(default_factory=list)  # a line for each partition that is not equal

    @property
    def right(self) -> bool:
        return not (self.lost or self.repeated or self.different)

    def add(self, result: Result, promise: Promise) -> None:
        """Take in what was found in one partition."""
        found = result.comparison
        self.records += found.source_records
        self.lost += found.count(Kind.LOST)
        self.different += sum(
            found.count(kind) for kind in (Kind.DIFFERENT, Kind.OUT_OF_ORDER, Kind.EXTRA)
        )
        if promise is Promise.AT_LEAST_ONCE:
            self.excused += found.count(Kind.REPEATED)
        else:
            self.repeated += found.count(Kind.REPEATED)
        if not found.is_clean():
            kinds = [f"{n.count} {kind} {n.examples}" for kind, n in found.found.items() if n.count]
            self.notes.append(f"{result.work.target}: {', '.join(kinds)}")

    def add_compacted(self, where: object, source: Iterable[Seen], target: Iterable[Seen]) -> None:
        """Take in a partition in which either side may have dropped what a later record replaced.

        The last record of each key must be the same. What else remains must stand in the order of
        the source, as far as the source still has it.
        """
        here, there = list(source), list(target)
        self.records += len(here)
        wanted, found = ({each.key: each for each in side} for side in (here, there))
        lost = [key for key in wanted if key not in found]
        different = [key for key in wanted if key in found and found[key] != wanted[key]]
        disordered = _out_of_order(here, there)
        repeated = len(there) - len(set(there))
        self.lost += len(lost)
        self.different += len(different) + disordered
        self.repeated += repeated
        if lost or different or disordered or repeated:
            self.notes.append(
                f"{where}: last values of {lost[:3]} lost, of {different[:3]} different, "
                f"{disordered} records out of order, {repeated} repeated"
            )


def _out_of_order(source: list[Seen], target: list[Seen]) -> int:
    """Count target records that stand before one that the source has earlier."""
    places = {each: place for place, each in enumerate(source)}
    there = [places[each] for each in target if each in places]
    return sum(after < before for before, after in pairwise(there))


def judge(
    topics: Iterable[Topic], alias: str, source: Mapping[str, str], target: Mapping[str, str]
) -> Verdict:
    """Compare all topics, the source read committed and the target as any consumer may read it.

    Compacted topics are copied in transactions, so there the target is read committed too.
    """
    verdict = Verdict()
    for topic in topics:
        copy = f"{alias}.{topic.name}"
        if topic.compacted:
            _judge_compacted(verdict, topic.name, copy, (source, target))
            continue
        for result in compare_topics(source, target, [TopicPair(topic.name, copy)]):
            verdict.add(result, topic.promise)
    return verdict


def _judge_compacted(
    verdict: Verdict, topic: str, copy: str, clients: tuple[Mapping[str, str], Mapping[str, str]]
) -> None:
    readers = [RecordReader(each, "read_committed") for each in clients]
    try:
        for number in range(readers[0].partitions(topic) or 0):
            ends = (TopicPartition(topic, number), TopicPartition(copy, number))
            here, there = (_seen(*each) for each in zip(readers, ends, strict=True))
            verdict.add_compacted(ends[1], here, there)
    finally:
        for each in readers:
            each.close()


def _seen(reader: RecordReader, partition: TopicPartition) -> list[Seen]:
    end = reader.bounds(partition)[1]
    return [
        Seen(each.key, fingerprint(each.key, each.value, each.headers, each.time[0]))
        for each in reader.read(partition, end)
    ]
