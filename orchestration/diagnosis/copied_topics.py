"""Reads what is compared between topics and their copies: configs, times of records, backlog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.diagnosis.topic_checks import BROKER_NAMES, RETENTION, CopiedTopic
from orchestration.flows.kafka_clients import KafkaClusters
from orchestration.flows.observation.flow_reader import look_at
from replication.adapters.probes.cluster_probe import ClusterProbe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.client.admin import ClusterAdmin
    from replication.client.cluster_facts import RecordTimes
    from replication.model import TopicPartition
    from replication.planning.planner import TargetPlan
    from replication.planning.source_snapshot import SourceSnapshot
    from replication.settings.flow_settings import Flow

_HOURS = "log.retention.hours"  # where the brokers' log.retention.ms is not set


def copied_topics(
    plan: TargetPlan, source: SourceSnapshot, target: ClusterAdmin
) -> tuple[CopiedTopic, ...]:
    """Return the topics of one flow of a plan, with what is known of them and of their copies.

    Raises ClusterUnavailable or ClusterRejected.
    """
    found = _CopyFacts(
        plan,
        source,
        broker_defaults(target),
        _times(source.flow, source.chosen),
        _behind(source.flow),
    )
    return tuple(map(found.topic, source.chosen))


@dataclass(frozen=True, slots=True)
class _CopyFacts:
    """What was read for one flow; ``behind``: age of the oldest record to copy, in s, by topic."""

    plan: TargetPlan
    source: SourceSnapshot
    defaults: Mapping[str, str]
    times: Mapping[TopicPartition, RecordTimes]
    behind: Mapping[str, float]

    def topic(self, topic: str) -> CopiedTopic:
        settings = self.source.settings.get(topic, {})
        times = [each for part, each in self.times.items() if part.topic == topic]
        oldest = [each.oldest_ms for each in times if each.oldest_ms is not None]
        newest = [each.newest_ms for each in times if each.newest_ms is not None]
        return CopiedTopic(
            topic,
            {config: each.value for config, each in settings.items()},
            self._copy(self.source.selector.remote_topic(topic)),
            min(oldest, default=None),
            max(newest, default=None),
            self.behind.get(topic),
        )

    def _copy(self, name: str) -> Mapping[str, str]:
        """Return the configs that a copy has, or those that it will be created with."""
        settings = self.plan.topics.settings.get(name) if self.plan.topics else None
        if settings:
            return {config: each.value for config, each in settings.items()}
        desired = next((each for each in self.plan.desired if each.name == name), None)
        return {**self.defaults, **(desired.configs if desired else {})}


def broker_defaults(target: ClusterAdmin) -> dict[str, str]:
    """Return what a topic has whose config is not set, as far as our user may see it."""
    found = {config: target.broker_default(name) for config, name in BROKER_NAMES.items()}
    if found[RETENTION] is None and (hours := target.broker_default(_HOURS)):
        found[RETENTION] = str(int(hours) * 3_600_000)
    return {config: value for config, value in found.items() if value is not None}


def _times(flow: Flow, topics: Sequence[str]) -> Mapping[TopicPartition, RecordTimes]:
    with ClusterProbe(flow.clients.source_admin) as probe:
        return probe.times(topics)


def _behind(flow: Flow) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in look_at(flow, KafkaClusters()).lag().partitions:
        if each.seconds is not None:
            topic = each.partition.topic
            found[topic] = max(found.get(topic, 0.0), each.seconds)
    return found
