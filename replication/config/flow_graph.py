"""Checks the flows together: one cluster under two aliases, and replication cycles."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.model import BY_HEADERS, BY_NAMES
from replication.naming.topology import cycles, may_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from replication.config.file.findings import Notes
    from replication.settings.flow_settings import Flow


def check_topology(flows: Sequence[Flow], props: Mapping[str, Value], notes: Notes) -> None:
    """Report flows that copy a cluster to itself, and replication cycles."""
    for flow in flows:
        source = flow.clients.source_consumer.get("bootstrap.servers", "")
        target = flow.clients.target_producer.get("bootstrap.servers", "")
        if _addresses(source) & _addresses(target):
            at = props.get(f"{flow.target}.bootstrap.servers", Value("", "bootstrap.servers")).at
            notes.error(at, f"{flow.source} and {flow.target} are the same cluster",
                        "name two clusters, or remove the flow between the two names")  # fmt: skip
    found = tuple(cycles([flow for flow in flows if not flow.naming.prefixes_all]))
    for cycle in found:
        _report_unsafe(cycle, props, notes)
    for both in _mixed(found):
        _report_unsafe(both, props, notes)


def _report_unsafe(cycle: tuple[Flow, ...], props: Mapping[str, Value], notes: Notes) -> None:
    """Report a cycle with a flow that cannot tell copies from local records of its source.

    One such flow is enough: it also hides the origin of its records from the others. Producer
    ids and headers cannot be mixed either, because each hides what the other reads.
    """
    problems = [(flow, _problem(flow, cycle)) for flow in cycle]
    for flow, problem in [(flow, problem) for flow, problem in problems if problem][:1]:
        path = " -> ".join([*(each.source for each in cycle), cycle[0].source])
        key = f"{flow.name}.cycle.prevention"
        notes.error(
            props.get(key, props.get("cycle.prevention", Value("", key))).at,
            f"replication cycle: {path} keep topic names and may copy the same topics, and "
            f"{flow.name} {problem}",
            "set cycle.prevention = producer-id, use the default policy, or select topics that do "
            "not overlap",
        )


def _mixed(found: Sequence[tuple[Flow, ...]]) -> Iterator[tuple[Flow, ...]]:
    """Yield the union of two cycles that share a cluster but use different cycle prevention."""
    if len({flow.cycle_prevention for each in found for flow in each}) == 1:
        return
    alike = [each for each in found if len({flow.cycle_prevention for flow in each}) == 1]
    for one, other in combinations(alike, 2):
        if one[0].cycle_prevention == other[0].cycle_prevention:
            continue
        if meeting := {each.source for each in one} & {each.source for each in other}:
            both = (*_from(min(meeting), one), *_from(min(meeting), other))
            if all(may_share(*pair) for pair in combinations(both, 2)):
                yield both


def _from(cluster: str, cycle: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return the flows of a cycle, starting at ``cluster``."""
    at = [each.source for each in cycle].index(cluster)
    return (*cycle[at:], *cycle[:at])


def _problem(flow: Flow, cycle: Sequence[Flow]) -> str:
    """Return why a flow cannot recognize copies; empty if it can."""
    how = flow.cycle_prevention
    if how == BY_NAMES:
        return "cannot distinguish copies from other records with cycle.prevention = names"
    if how == BY_HEADERS and not flow.provenance_headers:
        return "writes no headers for the other flows to read: set provenance.headers = true"
    if any(each.cycle_prevention != how for each in cycle):
        return f"has cycle.prevention = {how}, the others do not"
    return ""


def _addresses(servers: str) -> set[str]:
    return {each.strip() for each in servers.split(",")} - {""}
