"""Writes a topology as a Mermaid flow chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.naming.topology import Edge, Topology

MOST_TOPICS = 30  # of a flow: a chart of hundreds is unreadable


def mermaid(topology: Topology) -> str:
    """Return the chart's text. With known topics each is a node within its cluster."""
    ids = {alias: f"c{number}" for number, alias in enumerate(topology.clusters)}
    lines = ["flowchart LR", *_clusters(topology, ids), *_flows(topology, ids)]
    for merge in topology.merges:
        what = merge.topic or "topics of the same name"
        lines.append(f"  %% {what} of {', '.join(merge.sources)} merge on {merge.target}")
    return "\n".join(lines) + "\n"


def _drawn_topics(edge: Edge) -> Iterator[tuple[str, str]]:
    """Yield the topics of a flow that are drawn, with their names on the target."""
    copied = [each for each in edge.topics if not each.left_out]
    for each in copied[:MOST_TOPICS]:
        yield each.topic, each.target
    if (more := len(copied) - MOST_TOPICS) > 0:
        yield f"{more} more", f"{more} more"


def _unseen_patterns(edge: Edge) -> tuple[str, ...]:
    """Return the patterns whose topics are unknown as long as no cluster was read."""
    if any(topic.there is not None for topic in edge.topics):
        return ()
    known = {each.topic for each in edge.topics}
    return tuple(each for each in edge.selection if each not in known)


def _naming(edge: Edge) -> str:
    """Return how a flow names topics, as an arrow."""
    return edge.names if "→" in edge.names else f"t → {edge.names}"


def _clusters(topology: Topology, ids: Mapping[str, str]) -> Iterator[str]:
    for alias, servers in topology.clusters.items():
        label = f"{_safe(alias)}<br/>{'<br/>'.join(map(_safe, servers))}"
        topics = list(_topics(topology, alias, ids[alias]))
        if topics:
            yield f'  subgraph {ids[alias]}["{label}"]'
            yield from topics
            yield "  end"
        else:
            yield f'  {ids[alias]}["{label}"]'


def _topics(topology: Topology, alias: str, node: str) -> Iterator[str]:
    names = {
        name
        for edge in topology.edges
        for topic, target in _drawn_topics(edge)
        for cluster, name in ((edge.source, topic), (edge.target, target))
        if cluster == alias
    }
    for name in sorted(names):
        yield f'    {_topic_id(node, name)}["{_safe(name)}"]'


def _flows(topology: Topology, ids: Mapping[str, str]) -> Iterator[str]:
    for edge in topology.edges:
        arrow = "-.->" if edge.cycles else "-->"
        source, target = ids[edge.source], ids[edge.target]
        pairs = list(_drawn_topics(edge))
        for topic, name in pairs:
            yield f"  {_topic_id(source, topic)} {arrow} {_topic_id(target, name)}"
        rest = _unseen_patterns(edge)
        if rest or not pairs:
            label = f"{_safe(', '.join(rest or edge.selection))}<br/>{_safe(_naming(edge))}"
            yield f'  {source} {arrow}|"{label}"| {target}'


def _topic_id(cluster: str, topic: str) -> str:
    """Return an id of letters and digits that no other topic of the cluster has."""
    return f"{cluster}t{topic.encode().hex()}"


def _safe(text: str) -> str:
    """Return text escaped for Mermaid's labels: quotes, brackets and hashes as entities."""
    for char in '#&"<>':
        text = text.replace(char, f"\0{ord(char)};")
    return text.replace("\0", "#")
