"""Plan which topics of a target are created, extended, altered, or left and why.

Pure: two snapshots in, a plan out. ``apply`` applies it, ``explain`` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.planning.topic_configs import DesiredConfigs, Names, changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.client.admin import ConfigValue, TopicInfo
    from replication.planning.topic_configs import ConfigChange
    from replication.state import AppliedConfigs

BROKER_DEFAULT = -1  # a replication factor: what the target's brokers are set to
MIN_INSYNC = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class DesiredTopic:
    """A topic as the target should have it: the source's, named for the target."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)  # it is created with these
    desired_configs: DesiredConfigs | None = (
        None  # how its configs should be from then on; None: left alone
    )
    source: str = "the source"  # whose it is, for reasons
    flows: tuple[str, ...] = ()
    may_create: bool = True  # False: an operator has to create missing topics
    conflicts: tuple[str, ...] = ()  # what its sources do not agree on
    unseen: tuple[str, ...] = ()  # of which sources' configs nothing is known
    at_first: int = 1  # minimum partitions at creation; afterwards it grows with its sources


@dataclass(frozen=True, slots=True)
class TargetTopics:
    """The target's topics, and what else a plan for them depends on."""

    topics: Mapping[str, TopicInfo]
    brokers: int
    name: str = "the target"
    settings: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    min_insync: int | None = None  # of topics that do not say; None: not known
    applied: Mapping[str, AppliedConfigs] = field(default_factory=dict)  # by topic
    again: bool = False  # also retry what was rejected before


@dataclass(frozen=True, slots=True)
class CreateTopic:
    topic: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    reason: str = "the topic is missing"


@dataclass(frozen=True, slots=True)
class GrowTopic:
    topic: str
    total: int  # count after the change, not the number added
    reason: str = "the source has more partitions"


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """Changes of one topic's configs: no others are touched."""

    topic: str
    changes: tuple[ConfigChange, ...]
    values: Mapping[str, str] = field(default_factory=dict)  # all that should be set afterwards


@dataclass(frozen=True, slots=True)
class Keep:
    """A difference that we keep; copying continues."""

    topic: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A topic that we do not create or grow, so nothing is copied into what is missing."""

    topic: str
    reason: str


TopicAction = CreateTopic | GrowTopic | AlterConfigs | Keep | Refuse


def plan_topics(desired: Iterable[DesiredTopic], target: TargetTopics) -> tuple[TopicAction, ...]:
    """Return the actions that give the target every desired topic, ordered by name.

    No topic or partition is ever removed: Kafka cannot drop partitions, and a topic that vanished
    at the source may still be read at the target.
    """
    ordered = sorted(desired, key=lambda each: each.name)
    return tuple(action for each in ordered for action in _plan(each, target))


def _plan(desired: DesiredTopic, target: TargetTopics) -> Iterator[TopicAction]:
    existing = target.topics.get(desired.name)
    yield from (Keep(desired.name, each) for each in desired.unseen)
    if existing is None:
        yield _create(desired, target)
        return
    if existing.partitions < desired.partitions:
        yield _grow(desired, existing, target)
    elif existing.partitions > max(desired.partitions, desired.at_first):
        yield Keep(
            desired.name,
            f"target has {existing.partitions} partitions, source {desired.partitions}: "
            "partitions cannot be removed",
        )
    yield from _configs(desired, target)
    yield from (Keep(desired.name, conflict) for conflict in desired.conflicts)
    yield from _cannot_be_written(existing, target)


def _create(desired: DesiredTopic, target: TargetTopics) -> CreateTopic | Refuse:
    reason = (
        _why_not(desired, target) if desired.may_create else by_hand("the topic is missing", target)
    )
    if reason:
        return Refuse(desired.name, reason)
    return CreateTopic(
        desired.name,
        max(desired.partitions, desired.at_first),
        desired.replication_factor,
        desired.configs,
        f"{desired.source} has it and {target.name} does not",
    )


def _grow(desired: DesiredTopic, existing: TopicInfo, target: TargetTopics) -> GrowTopic | Refuse:
    why = f"{desired.source} has {desired.partitions}, {target.name} {existing.partitions}"
    if not desired.may_create:
        return Refuse(desired.name, by_hand(f"partitions are missing ({why})", target))
    return GrowTopic(desired.name, desired.partitions, why)


def unseen(what: str, topic: str, cluster: str) -> str:
    """Return why configs are kept: the cluster lists a topic but does not describe it."""
    return (
        f"{what} cannot be read: Isthmus' user needs DESCRIBE_CONFIGS on topic {topic} of {cluster}"
    )


def by_hand(what: str, target: TargetTopics) -> str:
    """Return why a missing topic or partition is not created."""
    return f"{what}, and topic.creation.enable = false: create it on {target.name}"


def _why_not(desired: DesiredTopic, target: TargetTopics) -> str:
    """Return why a topic cannot be created, or never be written to; empty if it can."""
    factor, brokers = desired.replication_factor, target.brokers
    if factor > brokers:
        return (
            f"replication factor {factor} needs {factor} brokers, the target has {brokers}: "
            "set replication.factor lower or add brokers"
        )
    if factor == BROKER_DEFAULT:
        return ""
    if factor < 1:
        return (
            f"replication factor {factor} is not possible: set replication.factor to 1 or more, "
            f"or to {BROKER_DEFAULT} for the broker's default"
        )
    own = desired.configs.get(MIN_INSYNC)
    least = int(own) if own is not None and own.isdigit() else target.min_insync
    if least is not None and least > factor:
        whose = "this file sets" if own is not None else "the target's brokers set"
        return (
            f"with replication factor {factor} every produce request would fail, because {whose} "
            f"{MIN_INSYNC} = {least}: set replication.factor to {least} or more, or "
            f"topic.creation.{MIN_INSYNC} to {factor}"
        )
    return ""


def _configs(desired: DesiredTopic, target: TargetTopics) -> Iterator[TopicAction]:
    """Yield one alteration with all that may be changed, and a reason for what may not."""
    settings = target.settings.get(desired.name)
    if desired.desired_configs is None or settings is None:
        return
    if not settings:
        yield Keep(desired.name, unseen("its configs", desired.name, target.name))
        return
    applied = target.applied.get(desired.name)
    before = None if applied is None else applied.configs
    names = Names(desired.source, target.name)
    differences = changes(desired.desired_configs, settings, before, names)
    refused = {each: _unwanted(each, settings, target, applied) for each in differences}
    if doable := tuple(each for each, why in refused.items() if not why):
        yield AlterConfigs(desired.name, doable, desired.desired_configs.values)
    for why in filter(None, refused.values()):
        yield Keep(desired.name, why)


def _unwanted(
    change: ConfigChange,
    settings: Mapping[str, ConfigValue],
    target: TargetTopics,
    applied: AppliedConfigs | None,
) -> str:
    """Return why a change is not even tried; empty when it is."""
    if change.config not in settings:
        return (
            f"{change.config} = {change.value} is not set: {target.name} has no such topic config"
        )
    value, why = (applied.refused if applied else {}).get(change.config, ("", ""))
    if why and value == (change.value or "") and not target.again:
        return (
            f"{change.config} = {change.value} was rejected ({why}); retried when the value changes"
        )
    return ""


def _cannot_be_written(existing: TopicInfo, target: TargetTopics) -> Iterator[Keep]:
    """Say that appends can never be acked, instead of retrying them without a word."""
    setting = target.settings.get(existing.name, {}).get(MIN_INSYNC)
    if setting is None or not existing.replicas or not setting.value.isdigit():
        return
    if int(setting.value) > existing.replicas:
        yield Keep(
            existing.name,
            f"every produce request fails: the topic has {existing.replicas} replica(s) and "
            f"{MIN_INSYNC} = {setting.value}; add replicas, or lower "
            f"{MIN_INSYNC} of the topic on {target.name}",
        )
