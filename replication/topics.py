"""What must change on the target so that it has the topics that a flow copies into.

Pure: two snapshots in, a plan out. ``replication.apply`` carries it out, ``explain`` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.ports import TopicInfo

BROKER_DEFAULT = -1  # a replication factor: what the target's brokers are set to


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic as the target should have it: the source's, named for the target."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateTopic:
    topic: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GrowTopic:
    topic: str
    total: int  # count after the change, not the number added


@dataclass(frozen=True, slots=True)
class Keep:
    """A difference that we leave as it is; copying goes on."""

    topic: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A topic that we do not create, so nothing is copied into it."""

    topic: str
    reason: str


Action = CreateTopic | GrowTopic | Keep | Refuse


def plan_topics(
    wanted: Iterable[WantedTopic], existing: Mapping[str, TopicInfo], brokers: int
) -> tuple[Action, ...]:
    """Return the actions that give the target every wanted topic, ordered by name.

    ``existing`` and ``brokers`` are the target's. Topics wanted by several sources (a merge) get
    the most partitions that any of them has. No topic or partition is ever removed: Kafka cannot
    drop partitions, and a topic that vanished at the source may still be read at the target.
    """
    merged = _merge(wanted)
    return tuple(
        action
        for name in sorted(merged)
        for action in _plan(merged[name], existing.get(name), brokers)
    )


def _merge(wanted: Iterable[WantedTopic]) -> dict[str, WantedTopic]:
    merged: dict[str, WantedTopic] = {}
    for topic in wanted:
        first = merged.setdefault(topic.name, topic)
        merged[topic.name] = replace(first, partitions=max(first.partitions, topic.partitions))
    return merged


def _plan(wanted: WantedTopic, existing: TopicInfo | None, brokers: int) -> Iterator[Action]:
    if existing is None:
        yield _create(wanted, brokers)
    elif existing.partitions < wanted.partitions:
        yield GrowTopic(wanted.name, wanted.partitions)
    elif existing.partitions > wanted.partitions:
        yield Keep(
            wanted.name,
            f"target has {existing.partitions} partitions, source {wanted.partitions}: "
            "partitions cannot be removed",
        )


def _create(wanted: WantedTopic, brokers: int) -> CreateTopic | Refuse:
    factor = wanted.replication_factor
    if factor > brokers:
        return Refuse(
            wanted.name,
            f"replication factor {factor} needs {factor} brokers, the target has {brokers}: "
            "set replication.factor lower or add brokers",
        )
    if factor < 1 and factor != BROKER_DEFAULT:
        return Refuse(
            wanted.name,
            f"replication factor {factor} is not possible: set replication.factor to 1 or more, "
            f"or to {BROKER_DEFAULT} for the broker's default",
        )
    return CreateTopic(wanted.name, wanted.partitions, factor, wanted.configs)
