"""Pairs each source partition with its copy, and with the settings that it is copied by. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from replication.model import PartitionPlan, TopicPartition
from replication.naming.java_regex import compile_rules
from replication.settings.state_policies import KEEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.client.admin import TopicInfo
    from replication.model import NameChange
    from replication.provenance.routes import Routes
    from replication.settings.flow_settings import Flow
    from spark_jobs.planning.source_inventory import SourceInventory


class MatchedTopics(NamedTuple):
    """What is known of the topics to copy, all by their names at the source but ``modes``."""

    chosen: Mapping[str, TopicInfo]  # at the source
    there: Mapping[str, TopicInfo]  # on the target
    modes: Mapping[tuple[str, str], str]
    inventory: SourceInventory
    prompt: frozenset[TopicPartition]  # in the flow's very first plan


def partition_plans(flow: Flow, routes: Routes, found: MatchedTopics) -> tuple[PartitionPlan, ...]:
    """Return the pairs of partitions, with the flow's settings for each. Pure."""
    chosen, there, modes, inventory, prompt = found
    copying = flow.copying
    rules = compile_rules(copying.priority_topics)
    first = {name for name in there if any(rule.matches(name) for rule in rules)}
    return tuple(
        PartitionPlan(
            here,
            copy,
            chosen[here.topic].topic_id,
            there[here.topic].topic_id,
            *inventory.begin(chosen[here.topic], here.partition, prompt=here in prompt),
            mode=modes[here.topic, copy.topic],
            first=here.topic in first,
            start=_named(copying.start_offsets.get(here.topic, {}), here.partition),
            until=_named(copying.until_offsets.get(here.topic, {}), here.partition),
            origins=routes.rule(flow.name, here.topic),
        )
        for here, copy in partition_pairs(chosen, there)
    )


def with_name_changes(
    partitions: tuple[PartitionPlan, ...], changes: Mapping[str, NameChange]
) -> tuple[PartitionPlan, ...]:
    """Return the plans, with the changed name of each topic that does not keep its old one."""
    about = {topic: each for topic, each in changes.items() if each.choice != KEEP}
    return tuple(replace(each, name_change=about.get(each.source.topic)) for each in partitions)


def partition_pairs(
    chosen: Mapping[str, TopicInfo], there: Mapping[str, TopicInfo]
) -> Iterator[tuple[TopicPartition, TopicPartition]]:
    """Yield each partition and its copy, where both exist."""
    for name, ours in sorted(there.items()):
        for number in range(min(chosen[name].partitions, ours.partitions)):
            yield TopicPartition(name, number), TopicPartition(ours.name, number)


def _named(named: Mapping[int, int], number: int) -> int | None:
    """Return a partition's offset: 0 where only other partitions of its topic have one.

    Its records came after those offsets were taken, or whoever took them did not see it.
    """
    return named.get(number, 0) if named else None
