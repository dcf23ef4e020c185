"""Compares all records of a scenario on every cluster, and counts losses and repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from orchestration.demo.event_producer import origin_of
from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.flows.comparison.topic_comparison import Options, compare_topics
from replication.records.comparison_result import DifferenceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from orchestration.demo.scenarios import Scenario
    from orchestration.flows.comparison.compared_partition import PartitionResult
    from replication.adapters.topics.record_reader import ConsumedRecord


class SmokeVerdict(NamedTuple):
    """The counts of the comparison, over all partitions."""

    records: int  # compared: each once for every cluster that it must be copied to
    lost: int
    repeated: int
    different: int  # altered, out of order, or never produced
    copied_back: int  # copied back to their origin
    missing: int  # missing at their origin

    @property
    def right(self) -> bool:
        return not any(self[1:])


def compare_all(
    scenario: Scenario,
    clients: Mapping[str, Mapping[str, Any]],
    topics: Sequence[str],
    written: Mapping[str, int],
) -> SmokeVerdict:
    """Compare each origin's records with their copies, per origin and in order.

    ``clients``: librdkafka's settings by cluster; ``written``: records by cluster.
    """
    found: list[PartitionResult] = []
    at_home: dict[str, int] = {}
    for copy in scenario.copies():
        options = Options(concerns=_concerns(copy.origin, scenario.writers))
        pairs = [TopicPair(topic, scenario.topic_at(copy, topic)) for topic in topics]
        results = compare_topics(clients[copy.origin], clients[copy.cluster], pairs, options)
        at_home[copy.origin] = sum(each.comparison.source_records for each in results)
        found += results
    return verdict(found, {name: at_home[name] - count for name, count in written.items()})


def verdict(results: Iterable[PartitionResult], surplus: Mapping[str, int]) -> SmokeVerdict:
    """Add up the results; ``surplus``: by cluster, records that exist beyond those produced."""
    found = [each.comparison for each in results]

    def total(*kinds: DifferenceKind) -> int:
        return sum(each.count(kind) for each in found for kind in kinds)

    return SmokeVerdict(
        sum(each.source_records for each in found),
        total(DifferenceKind.LOST),
        total(DifferenceKind.REPEATED),
        total(DifferenceKind.DIFFERENT, DifferenceKind.OUT_OF_ORDER, DifferenceKind.EXTRA),
        sum(each for each in surplus.values() if each > 0),
        sum(-each for each in surplus.values() if each < 0),
    )


def _concerns(origin: str, writers: Sequence[str]) -> Callable[[ConsumedRecord], bool]:
    """Return a predicate: records of ``origin``, and those that no writer produced."""
    others = frozenset(writers) - {origin}
    return lambda record: origin_of(record.key, record.headers) not in others
