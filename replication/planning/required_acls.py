"""The ACLs that Isthmus requires on its clusters for the flows of a file, and no others. Pure.

A source is only read: it stays as it is, unless the file asks for something that is written there.
ACLs that others imply are not listed: READ, WRITE and ALTER bring DESCRIBE,
ALTER_CONFIGS brings DESCRIBE_CONFIGS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.acl_values import (
    ANY,
    CLUSTER,
    GROUP,
    LITERAL,
    PREFIXED,
    TOPIC,
    TRANSACTIONAL_ID,
    Resource,
)
from replication.naming.heartbeat_topics import heartbeat_names
from replication.naming.java_replacement import template_of
from replication.naming.policy import policy_for
from replication.state import (
    ANCHORS_BEGIN,
    PROBE_TOPIC,
    PRODUCERS_TOPIC,
    anchors_topic,
    dead_letters_topic,
    flow_topics,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.naming.policy import ReplicationPolicy
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_CLUSTER = Resource(CLUSTER, "kafka-cluster")
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.-]|\\[.-])*")
_COORDINATION = Resource(TOPIC, "__consumer_offsets")
_CLIENT_GROUPS = Resource(GROUP, "isthmus-", PREFIXED)
_OWN = ("READ", "WRITE", "CREATE")
_STATE = (*_OWN, "DESCRIBE_CONFIGS")  # one that is not compacted would lose state


@dataclass(frozen=True, slots=True)
class RequiredAcl:
    """Operations on one resource of one cluster, and what they are for."""

    cluster: str
    resource: Resource
    operations: tuple[str, ...]
    why: str
    flow: str


def needed(config: Config) -> tuple[RequiredAcl, ...]:
    """Return what all flows of a file need, by cluster and resource."""
    beats = heartbeat_names(config)
    found = (need for flow in config.flows for need in _needs(flow, config, beats))
    return tuple(sorted(found, key=lambda each: (each.cluster, each.resource, each.flow)))


def _needs(
    flow: Flow, config: Config, beats: Mapping[str, frozenset[str]]
) -> Iterator[RequiredAcl]:
    policy = policy_for(flow, config.clusters)
    for resource, operations, why in (
        *_source(flow, beats[flow.source]),
        *_source_tasks(flow, policy),
    ):
        yield RequiredAcl(flow.source, resource, operations, why, flow.name)
    for resource, operations, why in (
        *_target(flow, policy, beats[flow.source]),
        *_target_tasks(flow, policy),
        *_peers(flow, config),
    ):
        yield RequiredAcl(flow.target, resource, operations, why, flow.name)


Need = tuple[Resource, tuple[str, ...], str]


def _source(flow: Flow, beats: Iterable[str]) -> Iterator[Need]:
    """Yield what is read; ``beats`` are the topics of heartbeats there."""
    operations = ("READ", "DESCRIBE_CONFIGS")
    for each in resources(flow.selection.topics):
        yield each, operations, "topics to copy, and their configs"
    for name in beats if flow.selection.heartbeats else ():
        yield Resource(TOPIC, name), operations, "heartbeats are copied too"
    registry = Resource(TOPIC, PRODUCERS_TOPIC)
    yield registry, ("READ",), "to separate copies from records produced on that cluster"
    anchors = Resource(TOPIC, ANCHORS_BEGIN, PREFIXED)
    lost = f"to know which copies are there when {PRODUCERS_TOPIC} has lost records"
    yield anchors, ("READ",), lost
    yield _CLIENT_GROUPS, ("DESCRIBE",), "isthmus compare: its consumer finds its group coordinator"


def _source_tasks(flow: Flow, policy: ReplicationPolicy) -> Iterator[Need]:
    if flow.acls.enabled:
        yield _CLUSTER, ("DESCRIBE",), "to read ACLs (sync.topic.acls.enabled)"
    if flow.groups.sync or flow.mm2.checkpoints.enabled:
        for each in resources(flow.selection.groups, GROUP):
            yield each, ("DESCRIBE",), "to read committed offsets of groups"
        yield _COORDINATION, ("DESCRIBE",), "to check that every group has a coordinator"
    if flow.mm2.heartbeats.back:
        name = policy.heartbeats_topic()
        yield Resource(TOPIC, name), _OWN, "heartbeats of the reverse flow are produced there"
    if flow.mm2.syncs.enabled and flow.mm2.syncs.location == "source":
        name = policy.offset_syncs_topic(flow.target)
        yield Resource(TOPIC, name), _OWN, "offset-syncs.topic.location = source"


def _target(flow: Flow, policy: ReplicationPolicy, beats: Iterable[str]) -> Iterator[Need]:
    """Yield what is written; ``beats`` are the topics of heartbeats on the source."""
    operations = ["READ", "WRITE"]
    if flow.creation.enabled:
        operations += ["CREATE", "ALTER"]
    operations += ["ALTER_CONFIGS" if flow.configs.enabled else "DESCRIBE_CONFIGS"]
    for each in _copies(flow):
        yield (
            each,
            tuple(operations),
            "copies: create topics, add partitions, produce, and read back after a crash",
        )
    if flow.creation.enabled:
        yield (
            _CLUSTER,
            ("DESCRIBE_CONFIGS",),
            "to read min.insync.replicas before a topic is created",
        )
    if flow.selection.heartbeats and flow.naming.kind in {"identity", "rename"}:
        for name in beats:
            copy = Resource(TOPIC, policy.remote_topic(flow.source, name))
            yield copy, tuple(operations), "heartbeats are copied too"
    states = [*flow_topics(flow.source), PRODUCERS_TOPIC]
    states += [PROBE_TOPIC] if flow.copying.delivery in {"auto", "append"} else []
    states += [dead_letters_topic(flow.source)] if flow.writes_dead_letters else []
    for name in states:
        yield Resource(TOPIC, name), _STATE, "Isthmus' own state"
    own = Resource(TRANSACTIONAL_ID, f"isthmus.{flow.name}", PREFIXED)
    yield own, ("WRITE",), "transactional ids: after a crash each record is still written once"
    yield _CLIENT_GROUPS, ("DESCRIBE",), "to read state: the consumer finds its group coordinator"


def _target_tasks(flow: Flow, policy: ReplicationPolicy) -> Iterator[Need]:
    if flow.acls.enabled:
        yield _CLUSTER, ("ALTER",), "to create and delete ACLs (sync.topic.acls.enabled)"
    if flow.groups.sync:
        for each in resources(flow.selection.groups, GROUP):
            yield each, ("READ",), "to commit offsets (sync.group.offsets.enabled)"
        yield _COORDINATION, ("DESCRIBE",), "to check that every group has a coordinator"
    if flow.mm2.heartbeats.enabled:
        name = policy.heartbeats_topic()
        yield Resource(TOPIC, name), _OWN, "heartbeats (emit.heartbeats.enabled)"
    if flow.mm2.syncs.enabled and flow.mm2.syncs.location == "target":
        name = policy.offset_syncs_topic(flow.source)
        yield Resource(TOPIC, name), _OWN, "offset-syncs.topic.location = target"
    if flow.mm2.checkpoints.enabled:
        name = policy.checkpoints_topic(flow.source)
        yield Resource(TOPIC, name), _OWN, "checkpoints (emit.checkpoints.enabled)"


def _peers(flow: Flow, config: Config) -> Iterator[Need]:
    """Yield what applications of other flows say on the target; in one of its own all is known."""
    if config.spark.application == "per-target":
        return
    for source in sorted({each.source for each in config.flows_into(flow.target)} - {flow.source}):
        for name in (status_topic(source), anchors_topic(source)):
            yield Resource(TOPIC, name), ("READ",), "target topic names of other flows (per-flow)"


def _copies(flow: Flow) -> Iterator[Resource]:
    """Return what covers the names of all copies; a policy of the operator's may give any name."""
    naming = flow.naming
    mine = (each for each in naming.mapped if each.source in {None, flow.source})
    yield from (Resource(TOPIC, each.target) for each in mine)
    if naming.kind == "prefix":
        yield Resource(TOPIC, f"{flow.source}{naming.separator}", PREFIXED)
    elif naming.kind == "own":
        yield Resource(TOPIC, ANY)
    else:
        yield from resources(flow.selection.topics)
    if naming.rename is not None:
        variables = {"source": flow.source, "target": flow.target}
        yield _covering(template_of(naming.rename).beginning(variables), TOPIC)


def resources(patterns: Iterable[str], kind: str = TOPIC) -> tuple[Resource, ...]:
    """Return resources that cover all names that the patterns match, as few names as possible.

    ACLs know whole names and beginnings: a pattern that begins with no plain text covers all.
    ``orders.v1`` is taken for the name that its author meant.
    """
    parts = (part for pattern in patterns for part in _alternatives(pattern))
    found = dict.fromkeys(_resource(each, kind) for each in parts)
    everything = Resource(kind, ANY)
    return (everything,) if everything in found else tuple(found)


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield the parts of ``a|b``, but not of ``x(a|b)``."""
    depth, part = 0, ""
    for sign in re.findall(r"\\.|.", pattern, re.DOTALL):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign == "|" and not depth:
            yield part
            part = ""
        else:
            part += sign
    yield part


def _resource(pattern: str, kind: str) -> Resource:
    match = _PLAIN.match(pattern)
    plain = match[0] if match else ""
    rest = pattern[len(plain) :]
    if rest[:1] in {"*", "?", "{", "+"}:  # it is about the character before
        plain = plain[: -2 if plain.endswith(("\\.", "\\-")) else -1]
    name = plain.replace("\\", "")
    return _covering(name, kind) if rest else Resource(kind, name, LITERAL)


def _covering(beginning: str, kind: str) -> Resource:
    return Resource(kind, beginning, PREFIXED) if beginning else Resource(kind, ANY)
