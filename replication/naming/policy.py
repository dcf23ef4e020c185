"""Naming policies: the target name of a topic, its hops, and whether it is a cycle.

A topic whose first part is no known cluster is local here, while MirrorMaker 2 takes any ``a.b``
for a copy from a cluster ``a``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from replication.errors import ConfigError
from replication.model import Origin
from replication.naming.checked_policy import CheckedPolicy
from replication.naming.custom_policy import load_policy
from replication.naming.internal_topics import HEARTBEATS, InternalTopicNames
from replication.naming.java_regex import Compiled, compiled
from replication.naming.java_replacement import template_of
from replication.naming.topic_map import made_from, names_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from replication.naming.java_replacement import Template
    from replication.settings.flow_settings import Flow
    from replication.settings.naming_settings import MappedName

_MOST_HOPS = 100  # of an operator's own policy whose names lead nowhere


class ReplicationPolicy(Protocol):
    """Two questions about names, from which the rest of this module is derived.

    The other names are those of MirrorMaker 2's own topics: see ``internal_topics``.
    """

    def remote_topic(self, source: str, topic: str) -> str:
        """Return the name that ``topic`` of cluster ``source`` has on the target."""

    def origin(self, topic: str) -> Origin | None:
        """Return the hop that created ``topic``, or None for a local topic."""

    def heartbeats_topic(self) -> str: ...

    def offset_syncs_topic(self, cluster: str) -> str: ...

    def checkpoints_topic(self, cluster: str) -> str: ...

    def is_checkpoints_topic(self, topic: str) -> bool: ...

    def internal_reason(self, topic: str) -> str | None: ...

    def looks_internal(self, topic: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class PrefixPolicy(InternalTopicNames):
    """Name remote topics ``<source><separator><topic>``.

    Only a prefix that is a known cluster counts, the longest one where several fit. Otherwise
    the local topic ``billing.invoices`` would pass for a copy from a cluster called ``billing``.
    """

    clusters: frozenset[str]
    separator: str = "."

    def __post_init__(self) -> None:
        if not self.separator:
            raise ConfigError(
                "the separator is empty: the name of a topic does not show its source; "
                "set replication.policy.separator = ."
            )

    def remote_topic(self, source: str, topic: str) -> str:
        return f"{source}{self.separator}{topic}"

    def origin(self, topic: str) -> Origin | None:
        starts = (f"{cluster}{self.separator}" for cluster in self.clusters)
        found = [start for start in starts if topic.startswith(start) and len(topic) > len(start)]
        if not found:
            return None
        longest = max(found, key=len)
        return Origin(longest.removesuffix(self.separator), topic[len(longest) :])


@dataclass(frozen=True, slots=True)
class IdentityPolicy(InternalTopicNames):
    """Keep every name, except heartbeats, which would mix. Cycles cannot be detected from names."""

    clusters: frozenset[str] = frozenset()
    separator: str = "."

    def remote_topic(self, source: str, topic: str) -> str:
        return f"{source}{self._dot}{topic}" if self._is_heartbeat(topic) else topic

    def origin(self, topic: str) -> Origin | None:
        if not self._is_heartbeat(topic):
            return None
        return PrefixPolicy(self.clusters, self._dot).origin(topic)

    @property
    def _dot(self) -> str:
        return self.separator or "."

    def _is_heartbeat(self, topic: str) -> bool:
        return topic == HEARTBEATS or topic.endswith(f"{self._dot}{HEARTBEATS}")


@dataclass(frozen=True, slots=True)
class RenamePolicy(InternalTopicNames):
    """Name topics by a rule; what the rule does not match whole keeps its name.

    Heartbeats get a prefix, as where all names are kept.
    """

    pattern: Compiled
    template: Template
    kept: IdentityPolicy
    target: str = ""

    def remote_topic(self, source: str, topic: str) -> str:
        if is_heartbeat(self.kept, topic):
            return self.kept.remote_topic(source, topic)
        match = self.pattern.fullmatch(topic)
        if match is None:
            return topic
        return self.template.fill(match, {"source": source, "target": self.target})

    def origin(self, topic: str) -> Origin | None:
        return self.kept.origin(topic)


@dataclass(frozen=True, slots=True)
class MapPolicy:
    """Name topics by a list, and those that are not in it by another policy.

    ``here`` is the cluster of the topics, a flow's source.
    """

    base: ReplicationPolicy
    lines: tuple[MappedName, ...]
    names: Mapping[str, MappedName]  # of the lines, those for ``here``, by topic
    here: str

    def remote_topic(self, source: str, topic: str) -> str:
        line = self.names.get(topic)
        return self.base.remote_topic(source, topic) if line is None else line.target

    def origin(self, topic: str) -> Origin | None:
        """Look up the target name in the map: a line for another cluster may match."""
        found = made_from(self.lines, topic, self.here)
        return self.base.origin(topic) if found is None else Origin(*found)

    def heartbeats_topic(self) -> str:
        return self.base.heartbeats_topic()

    def offset_syncs_topic(self, cluster: str) -> str:
        return self.base.offset_syncs_topic(cluster)

    def checkpoints_topic(self, cluster: str) -> str:
        return self.base.checkpoints_topic(cluster)

    def is_checkpoints_topic(self, topic: str) -> bool:
        return self.base.is_checkpoints_topic(topic)

    def internal_reason(self, topic: str) -> str | None:
        return self.base.internal_reason(topic)

    def looks_internal(self, topic: str) -> bool:
        return self.base.looks_internal(topic)


def policy_for(flow: Flow, aliases: Collection[str]) -> ReplicationPolicy:
    """Return the policy that a flow names topics by. Raises ConfigError."""
    base = _base_policy(flow, frozenset(aliases))
    lines = (*flow.naming.mapped, *flow.naming.held)  # of two lines for a topic the later one wins
    if not lines:
        return base
    return MapPolicy(base, lines, names_for(lines, flow.source), flow.source)


def _base_policy(flow: Flow, aliases: frozenset[str]) -> ReplicationPolicy:
    naming, inner = flow.naming, flow.naming.internal_separator
    if naming.own is not None:
        own = naming.own
        return CheckedPolicy(load_policy(own.written, own.folder, own.settings), own.written)
    kept = IdentityPolicy(aliases, naming.separator, internal_separator=inner)
    if naming.rename is not None:
        rename = naming.rename
        pattern, template = compiled(rename.pattern, rename.pattern), template_of(rename)
        return RenamePolicy(pattern, template, kept, flow.target, internal_separator=inner)
    if naming.kind == "identity":
        return kept
    return PrefixPolicy(aliases, naming.separator, internal_separator=inner)


def hops(policy: ReplicationPolicy, topic: str) -> Iterator[Origin]:
    """Yield the hops that brought ``topic`` here, newest first; a cycle is followed once."""
    seen = {topic}
    while (origin := policy.origin(topic)) is not None:
        yield origin
        topic = origin.topic
        if topic in seen or len(seen) >= _MOST_HOPS:
            return
        seen.add(topic)


def original_topic(policy: ReplicationPolicy, topic: str) -> str:
    """Return the name of ``topic`` on its origin cluster."""
    for origin in hops(policy, topic):
        topic = origin.topic
    return topic


def is_heartbeat(policy: ReplicationPolicy, topic: str) -> bool:
    """Say whether ``topic`` holds heartbeats of MirrorMaker 2, from here or from elsewhere."""
    return original_topic(policy, topic) == policy.heartbeats_topic()


def would_cycle(policy: ReplicationPolicy, topic: str, target: str) -> bool:
    """Say whether copying ``topic`` to ``target`` would bring it back to where it has been."""
    return any(hop.cluster == target for hop in hops(policy, topic))
