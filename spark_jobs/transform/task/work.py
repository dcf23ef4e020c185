"""What a driver gives a transform's task, and what the task reports: values."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from replication.model import TopicPartition
from replication.state import Anchor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.producer_identity import ProducerIdentity
    from replication.settings.flow_settings import Flow
    from replication.settings.transform_settings import TopicTransform


@dataclass(frozen=True, slots=True)
class RangeWork:
    """Offsets ``anchor.source`` up to ``end`` of one source partition, all in one transaction."""

    anchor: Anchor  # the committed position, and what the next anchor keeps
    end: int
    origins: str  # which copies are passed on, a rule as in provenance
    target: TopicPartition  # where records go that are not routed elsewhere
    # Why records of it cannot be transformed, by offset, as far as that is known from a former try.
    poisons: Mapping[int, str] = field(default_factory=dict)

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.anchor.topic, self.anchor.partition)


@dataclass(frozen=True, slots=True)
class TaskClusters:
    """How a task reaches the flow's clusters, and what it may pass on."""

    flow: str
    source_alias: str
    source: Mapping[str, str] = field(repr=False)  # Java client properties: may hold passwords
    target: Mapping[str, str] = field(repr=False)
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)  # as the two above
    source_id: str = ""
    target_id: str = ""
    committed: bool = True  # isolation level read_committed
    source_has_copies: bool = False
    # Ids of the clusters that records of the source may have been on before; see slot_producers.
    passes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SlotWork:
    """The work of one task: some ranges, one producer, one transaction."""

    clusters: TaskClusters
    transform: TopicTransform
    producer: ProducerIdentity
    ranges: tuple[RangeWork, ...]
    partitions: Mapping[str, int]  # of each target topic that it may write to
    sequences: Mapping[TopicPartition, int]  # the producer's next ones
    codec: int = 0  # compression of what it writes


@dataclass(frozen=True, slots=True)
class RangeReport:
    """What became of one range; ``anchor`` is committed."""

    anchor: Anchor
    read: int
    written: int
    dead: int = 0  # dead letters


@dataclass(frozen=True, slots=True)
class SlotReport:
    """What one task did. With a ``problem``, or with ``failed`` records, it committed nothing."""

    ranges: tuple[RangeReport, ...] = ()
    sequences: Mapping[TopicPartition, int] = field(default_factory=dict)
    problem: str = ""
    outside: tuple[int, ...] = ()  # numbers of ranges that are not in the source's log any more
    # Number of the range and offset of records that SQL fails on: Spark does not say why.
    failed: tuple[tuple[int, int], ...] = ()
    cpu_s: float = 0.0

    def text(self) -> str:
        """Return the report as JSON, for the one row that the task yields."""
        named = {f"{topic}\0{number}": each for (topic, number), each in self.sequences.items()}
        ranges = [{**asdict(each), "anchor": asdict(each.anchor)} for each in self.ranges]
        return json.dumps({**asdict(self), "ranges": ranges, "sequences": named})

    @classmethod
    def of(cls, text: str) -> SlotReport:
        """Return the report that ``text`` is."""
        found: dict[str, Any] = json.loads(text)
        return cls(
            tuple(_range(each) for each in found["ranges"]),
            {_partition(name): each for name, each in found["sequences"].items()},
            found["problem"],
            tuple(found["outside"]),
            tuple((number, offset) for number, offset in found["failed"]),
            found["cpu_s"],
        )


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.partition("\0")
    return TopicPartition(topic, int(number))


def _range(found: dict[str, Any]) -> RangeReport:
    anchor = dict(found["anchor"])
    anchor["appenders"] = tuple((name, number) for name, number in anchor["appenders"])
    for name in ("run", "since", "age_ms", "latency_ms"):
        anchor[name] = None if anchor[name] is None else tuple(anchor[name])
    return RangeReport(Anchor(**anchor), found["read"], found["written"], found["dead"])


def slots_of(flow: Flow) -> int:
    """Return how many Spark task slots a flow needs: its units, and as many for each transform."""
    return flow.copying.units * (1 + len(flow.transforms))
