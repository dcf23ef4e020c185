"""The desired topics of a target, from a snapshot of its sources. Pure, but for ``read_source``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.planning.merged_configs import merge_configs
from replication.planning.topic_configs import ConfigRules, DesiredConfigs, desired_configs
from replication.planning.topic_plan import MIN_INSYNC, DesiredTopic, unseen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.client.admin import ClusterAdmin, ConfigValue, TopicInfo
    from replication.naming.selection import TopicSelector
    from replication.settings.flow_settings import Flow


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """What a flow's source shows: all topics, and the settings of those that are copied."""

    flow: Flow
    selector: TopicSelector
    topics: Mapping[str, TopicInfo]
    settings: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    barred: Mapping[str, str] = field(default_factory=dict)  # why a topic's name cannot be used

    @property
    def chosen(self) -> tuple[str, ...]:
        """The topics that are copied, sorted."""
        return tuple(
            each for each in self.selector.selected(self.topics) if each not in self.barred
        )


def read_source(
    flow: Flow, selector: TopicSelector, source: ClusterAdmin, only: Collection[str] | None = None
) -> SourceSnapshot:
    """Ask a flow's source; about those topics that are called as in ``only`` on the target.

    Raises ClusterUnavailable or ClusterRejected.
    """
    topics = source.topics()
    asked = [
        each
        for each in selector.selected(topics)
        if only is None or selector.remote_topic(each) in only
    ]
    return SourceSnapshot(flow, selector, topics, source.topic_settings(asked))


class _Share(NamedTuple):
    """What one flow brings to a target topic."""

    flow: Flow
    topic: str  # on the source
    info: TopicInfo
    desired_configs: DesiredConfigs
    seen: bool  # whether its configs are known


def desired_topics(sources: Iterable[SourceSnapshot]) -> tuple[DesiredTopic, ...]:
    """Return what the flows into one target want of it, a topic each, however many share it.

    A shared topic gets the most partitions that any source has, and its configs by the strategy
    of the first flow.
    """
    shares: dict[str, list[_Share]] = {}
    for each in sources:
        rules = ConfigRules.of(each.flow)
        for topic in each.chosen:
            found = _Share(
                each.flow,
                topic,
                each.topics[topic],
                desired_configs(topic, each.settings.get(topic, {}), rules),
                each.settings.get(topic) != {},
            )
            shares.setdefault(each.selector.remote_topic(topic), []).append(found)
    return tuple(_merged(name, shares[name]) for name in sorted(shares))


def _merged(name: str, shares: Sequence[_Share]) -> DesiredTopic:
    first = shares[0].flow
    creation = first.creation
    merged, conflicts = _agreed(shares)
    hidden = tuple(
        unseen("the source's configs", each.topic, each.flow.source)
        for each in shares
        if not each.seen
    )
    made_with = dict(merged.values)
    if creation.min_insync_replicas is not None:
        made_with.setdefault(MIN_INSYNC, str(creation.min_insync_replicas))
        merged = replace(merged, free=merged.free - {MIN_INSYNC})  # nobody's default undoes it
    return DesiredTopic(
        name,
        max(each.info.partitions for each in shares),  # records keep their partition numbers
        creation.replication_factor,
        made_with,
        merged if first.configs.enabled and not hidden else None,
        ", ".join(dict.fromkeys(each.flow.source for each in shares)),
        tuple(each.flow.name for each in shares),
        creation.enabled,
        conflicts,
        hidden,
        creation.default_partitions or 1,
    )


def _agreed(shares: Sequence[_Share]) -> tuple[DesiredConfigs, tuple[str, ...]]:
    """Return the desired configs of all sources, and their differences. The file's values win."""
    if len(shares) == 1:
        return shares[0].desired_configs, ()
    strategy = shares[0].flow.creation.configs_strategy
    merged = merge_configs({_name(each): each.desired_configs.values for each in shares}, strategy)
    fixed = {
        key: value for each in reversed(shares) for key, value in each.desired_configs.fixed.items()
    }
    open_ones = [each for each in merged.conflicts if each.key not in fixed]
    values = {**merged.configs, **{key: value for key, value in fixed.items() if value}}
    free = frozenset().union(*(each.desired_configs.free for each in shares))
    reasons = {each.key: f"by strategy {strategy}" for each in open_ones}
    return DesiredConfigs(values, free, fixed, reasons), tuple(map(str, open_ones))


def _name(share: _Share) -> str:
    return f"{share.flow.source} {share.topic}"
