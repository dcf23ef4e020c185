"""What became of all records of a scenario, told by comparing each of them where it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from orchestration.demo.event_producer import born_at
from orchestration.flows.comparison import Options, TopicPair, compare_topics
from replication.records.comparison_result import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from orchestration.demo.scenarios import Scenario
    from orchestration.flows.comparison import Result
    from replication.adapters.topics.record_reader import Record


class Verdict(NamedTuple):
    """What the comparison found, all partitions together."""

    records: int  # compared: each once for every cluster that it should come to
    lost: int
    repeated: int
    different: int  # altered, misplaced, or there without ever having been written
    came_home: int  # on the cluster where they were born, a second time
    missing: int  # not even where they were written

    @property
    def right(self) -> bool:
        return not any(self[1:])


def compare_all(
    scenario: Scenario,
    clients: Mapping[str, Mapping[str, str]],
    topics: Sequence[str],
    written: Mapping[str, int],
) -> Verdict:
    """Compare what each cluster that writes holds with its copies, per origin and in order.

    ``clients``: librdkafka's settings by cluster; ``written``: records by cluster.
    """
    found: list[Result] = []
    at_home: dict[str, int] = {}
    for copy in scenario.copies():
        options = Options(concerns=_concerns(copy.origin, scenario.writers))
        pairs = [TopicPair(topic, scenario.topic_at(copy, topic)) for topic in topics]
        results = compare_topics(clients[copy.origin], clients[copy.cluster], pairs, options)
        at_home[copy.origin] = sum(each.comparison.source_records for each in results)
        found += results
    return verdict(found, {name: at_home[name] - count for name, count in written.items()})


def verdict(results: Iterable[Result], surplus: Mapping[str, int]) -> Verdict:
    """Add up what was found; ``surplus``: by cluster, how many more are there than were written."""
    found = [each.comparison for each in results]

    def total(*kinds: Kind) -> int:
        return sum(each.count(kind) for each in found for kind in kinds)

    return Verdict(
        sum(each.source_records for each in found),
        total(Kind.LOST),
        total(Kind.REPEATED),
        total(Kind.DIFFERENT, Kind.OUT_OF_ORDER, Kind.EXTRA),
        sum(each for each in surplus.values() if each > 0),
        sum(-each for each in surplus.values() if each < 0),
    )


def _concerns(origin: str, writers: Sequence[str]) -> Callable[[Record], bool]:
    """Return what tells records of ``origin``, and such as nobody has written, from others."""
    others = frozenset(writers) - {origin}
    return lambda record: born_at(record.key, record.headers) not in others
