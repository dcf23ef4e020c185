"""The topology of a file's flows: where topics go, where they merge, and the cycles.

Pure, from the file alone; ``replication.planning.live_topology`` adds the topics of the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.conflicts import ConflictKind, TargetNames, find_conflicts, refusals
from replication.naming.topic_namer import Namer, rule_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from replication.naming.conflicts import NameConflict, Named
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

LITERAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_ANY = "t"  # stands for whatever a pattern matches


class TopicName(NamedTuple):
    """A topic that the source has, or that the file names, and its target name."""

    topic: str
    target: str
    left_out: str = ""  # why it is not copied
    there: bool | None = None  # on the target; None: not read


@dataclass(frozen=True, slots=True)
class Edge:
    """One flow."""

    flow: str
    source: str
    target: str
    selection: tuple[str, ...]  # patterns
    names: str  # what a topic t becomes
    cycles: bool  # it is part of a cycle in which names are kept
    topics: tuple[TopicName, ...] = ()
    gap: str = ""  # selected topics that the source does not have


@dataclass(frozen=True, slots=True)
class Merge:
    """Topics of several sources that become one."""

    target: str  # the cluster
    topic: str  # there; empty: any that the sources have alike
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """A whole file."""

    clusters: Mapping[str, tuple[str, ...]]  # addresses, by name
    edges: tuple[Edge, ...]
    cycles: tuple[tuple[str, ...], ...]  # clusters, the first again at the end
    merges: tuple[Merge, ...]
    conflicts: tuple[NameConflict, ...] = ()  # names that cannot be used
    problems: tuple[str, ...] = ()  # clusters that did not answer


def drawn(config: Config) -> Topology:
    """Return the topology that the file alone shows: topic names without patterns, and patterns."""
    found = tuple(cycles([flow for flow in config.flows if not flow.naming.prefixes_all]))
    in_cycles = {flow.name for cycle in found for flow in cycle}
    namers = {flow.name: Namer.for_flow(flow, config) for flow in config.flows}
    named = {name: namer.named(_written_out(namer)) for name, namer in namers.items()}
    conflicts = tuple(_conflicts(config, named))
    merges = {*merges_of(conflicts), *_likely_merges(config, namers)}
    return Topology(
        {alias: each.bootstrap_servers for alias, each in config.clusters.items()},
        tuple(
            Edge(
                flow.name,
                flow.source,
                flow.target,
                flow.selection.topics,
                rule_text(flow),
                flow.name in in_cycles,
                tuple(_offline(named[flow.name], refusals(conflicts, flow.name))),
            )
            for flow in config.flows
        ),
        tuple((*(flow.source for flow in each), each[0].source) for each in found),
        tuple(sorted(merges, key=lambda each: (each.target, each.topic))),
        tuple(each for each in conflicts if each.refused),
    )


def _written_out(namer: Namer) -> tuple[str, ...]:
    """Return the selected topics that the file names."""
    flow = namer.flow
    plain = {each for each in flow.selection.topics if set(each) <= LITERAL}
    mapped = {line.topic for line in flow.naming.mapped if line.source in (None, flow.source)}
    return namer.selector.selected(plain | mapped)


def _offline(named: Iterable[Named], refused: Mapping[str, str]) -> Iterator[TopicName]:
    for each in named:
        yield TopicName(each.topic, each.target, refused.get(each.topic, ""))


def _conflicts(config: Config, named: Mapping[str, tuple[Named, ...]]) -> Iterator[NameConflict]:
    for target in dict.fromkeys(flow.target for flow in config.flows):
        names = [each for flow in config.flows_into(target) for each in named[flow.name]]
        yield from find_conflicts(names, TargetNames())


def merges_of(conflicts: Iterable[NameConflict]) -> Iterator[Merge]:
    """Yield the target topics that several sources' topics merge into."""
    for each in conflicts:
        if each.kind is ConflictKind.MERGE:
            sources, _, targets = zip(
                *(member.flow.partition("->") for member in each.members), strict=True
            )
            yield Merge(targets[0], each.target, tuple(dict.fromkeys(sources)))


def _likely_merges(config: Config, namers: Mapping[str, Namer]) -> Iterator[Merge]:
    """Find flows into one target that give topics one name if their sources have them alike."""
    for target in dict.fromkeys(flow.target for flow in config.flows):
        alike: dict[str, list[Flow]] = {}
        for flow in config.flows_into(target):
            name = namers[flow.name].selector.remote_topic(_ANY)
            group = alike.setdefault(name, [])
            if not group or any(may_share(flow, other) for other in group):
                group.append(flow)
        for group in alike.values():
            plain = all(set(topic) <= LITERAL for flow in group for topic in flow.selection.topics)
            if len(group) > 1 and not plain:
                yield Merge(target, "", tuple(flow.source for flow in group))


def cycles(flows: Sequence[Flow]) -> Iterator[tuple[Flow, ...]]:
    """Yield each cycle once, starting at its flow with the smallest name.

    A cycle visits each of its clusters once; longer cycles consist of these.
    """
    for first in sorted(flows, key=lambda flow: flow.name):
        yield from _walk((first,), flows)


def _walk(path: tuple[Flow, ...], flows: Sequence[Flow]) -> Iterator[tuple[Flow, ...]]:
    if path[-1].target == path[0].source:
        if path[0].name == min(flow.name for flow in path):
            yield path
        return
    been = {each.source for each in path[1:]}
    for flow in flows:
        if (
            flow.source == path[-1].target
            and flow.target not in been
            and all(may_share(flow, each) for each in path)
        ):
            yield from _walk((*path, flow), flows)


def may_share(one: Flow, other: Flow) -> bool:
    """Say whether two flows may copy a topic of the same name; patterns are taken to overlap."""
    topics = (set(one.selection.topics), set(other.selection.topics))
    if all(set(topic) <= LITERAL for each in topics for topic in each):
        return bool(topics[0] & topics[1])
    return all(topics)
