"""What topics are called on the target; hops and cycles are derived from that.

A topic whose first part is no known cluster is local here, while MirrorMaker 2 takes any ``a.b``
for a copy from a cluster ``a``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from replication.errors import ConfigError
from replication.internal_topics import HEARTBEATS, InternalTopics
from replication.model import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from replication.config.model import Flow, RenameRule


class ReplicationPolicy(Protocol):
    """Two questions about names, from which the rest of this module is derived.

    The other names are those of MirrorMaker 2's own topics: see ``internal_topics``.
    """

    def remote_topic(self, source: str, topic: str) -> str:
        """Return the name that ``topic`` of cluster ``source`` has on the target."""

    def origin(self, topic: str) -> Origin | None:
        """Return the hop that made ``topic``, or None for a topic born on this cluster.

        ``Origin.topic`` must be shorter than ``topic``, so that walking back ends.
        """

    def heartbeats_topic(self) -> str: ...

    def offset_syncs_topic(self, cluster: str) -> str: ...

    def checkpoints_topic(self, cluster: str) -> str: ...

    def is_checkpoints_topic(self, topic: str) -> bool: ...

    def is_internal_topic(self, topic: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class PrefixPolicy(InternalTopics):
    """Name remote topics ``<source><separator><topic>``.

    Only a prefix that is a known cluster counts, the longest one where several fit. Otherwise
    the local topic ``billing.invoices`` would pass for a copy from a cluster called ``billing``.
    """

    clusters: frozenset[str]
    separator: str = "."

    def __post_init__(self) -> None:
        if not self.separator:
            raise ConfigError(
                "the separator is empty: the source of a topic could not be told from its name; "
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
class IdentityPolicy(InternalTopics):
    """Keep every name, except heartbeats, which would mix. Cycles cannot be told from names."""

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
class RenamePolicy(InternalTopics):
    """Name topics by a rule; what the rule does not match whole keeps its name."""

    rule: RenameRule
    target: str = ""

    def remote_topic(self, source: str, topic: str) -> str:
        if self.rule.only_from not in (None, source):
            return topic
        match = re.fullmatch(self.rule.pattern, topic, re.ASCII)
        return topic if match is None else self._filled(match, source)

    def origin(self, topic: str) -> Origin | None:
        return None

    def _filled(self, match: re.Match[str], source: str) -> str:
        names = {"source": source, "target": self.target}

        def part(token: re.Match[str]) -> str:
            if token["group"]:
                return match[int(token["group"])] or ""
            return names.get(token["name"], token[0]) if token["name"] else token["escaped"]

        return _TOKEN.sub(part, self.rule.replacement)


_TOKEN = re.compile(r"\$(?P<group>\d)|\$\{(?P<name>\w+)\}|\\(?P<escaped>.)")


def policy_for(flow: Flow, aliases: Collection[str]) -> ReplicationPolicy:
    """Return the policy that a flow names topics by. Raises ConfigError."""
    naming, inner = flow.naming, flow.naming.internal_separator
    if naming.kind == "rename" and naming.rename is not None:
        return RenamePolicy(naming.rename, flow.target, internal_separator=inner)
    if naming.kind == "identity":
        return IdentityPolicy(frozenset(aliases), naming.separator, internal_separator=inner)
    return PrefixPolicy(frozenset(aliases), naming.separator, internal_separator=inner)


def hops(policy: ReplicationPolicy, topic: str) -> Iterator[Origin]:
    """Yield the hops that brought ``topic`` here, newest first."""
    while (origin := policy.origin(topic)) is not None:
        yield origin
        topic = origin.topic


def original_topic(policy: ReplicationPolicy, topic: str) -> str:
    """Return the name under which ``topic`` was born."""
    for origin in hops(policy, topic):
        topic = origin.topic
    return topic


def is_heartbeat(policy: ReplicationPolicy, topic: str) -> bool:
    """Say whether ``topic`` holds heartbeats of MirrorMaker 2, from here or from elsewhere."""
    return original_topic(policy, topic) == HEARTBEATS


def would_cycle(policy: ReplicationPolicy, topic: str, target: str) -> bool:
    """Say whether copying ``topic`` to ``target`` would bring it back to where it has been."""
    return any(hop.cluster == target for hop in hops(policy, topic))
