"""Checks the flows together: one cluster under two aliases, and replication cycles."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.model import BY_HEADERS, BY_NAMES
from replication.naming.topology import circles, may_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from replication.config.file.findings import Notes
    from replication.settings.sections import Flow


def check_topology(flows: Sequence[Flow], props: Mapping[str, Value], notes: Notes) -> None:
    """Note flows that would copy a cluster to itself or records in a circle."""
    for flow in flows:
        source = flow.clients.source_consumer.get("bootstrap.servers", "")
        target = flow.clients.target_producer.get("bootstrap.servers", "")
        if _addresses(source) & _addresses(target):
            at = props.get(f"{flow.target}.bootstrap.servers", Value("", "bootstrap.servers")).at
            notes.error(at, f"{flow.source} and {flow.target} are the same cluster",
                        "name two clusters, or remove the flow between the two names")  # fmt: skip
    found = tuple(circles([flow for flow in flows if not flow.naming.prefixes_all]))
    for circle in found:
        _refuse_blind(circle, props, notes)
    for both in _mixed(found):
        _refuse_blind(both, props, notes)


def _refuse_blind(circle: tuple[Flow, ...], props: Mapping[str, Value], notes: Notes) -> None:
    """Refuse a circle with a flow that cannot tell copies from what was born on its source.

    One such flow is enough: it also hides from the others where its records come from. Producer
    ids and headers cannot be mixed either, for each hides what the other looks for.
    """
    lacks = [(flow, _lack(flow, circle)) for flow in circle]
    for flow, lack in [(flow, lack) for flow, lack in lacks if lack][:1]:
        way = " -> ".join([*(each.source for each in circle), circle[0].source])
        key = f"{flow.name}.cycle.prevention"
        notes.error(
            props.get(key, props.get("cycle.prevention", Value("", key))).at,
            f"replication cycle: {way} keep topic names and may copy the same topics, and "
            f"{flow.name} {lack}",
            "set cycle.prevention = producer-id, use the default policy, or select topics that do "
            "not overlap",
        )


def _mixed(found: Sequence[tuple[Flow, ...]]) -> Iterator[tuple[Flow, ...]]:
    """Yield what two circles that meet make together, where each goes by something else."""
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


def _from(cluster: str, circle: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return a circle as it is gone from ``cluster`` on."""
    at = [each.source for each in circle].index(cluster)
    return (*circle[at:], *circle[:at])


def _lack(flow: Flow, circle: Sequence[Flow]) -> str:
    """Return what keeps a flow from telling copies; empty: nothing."""
    how = flow.cycle_prevention
    if how == BY_NAMES:
        return "cannot distinguish copies from other records with cycle.prevention = names"
    if how == BY_HEADERS and not flow.provenance_headers:
        return "writes no headers for the other flows to read: set provenance.headers = true"
    if any(each.cycle_prevention != how for each in circle):
        return f"has cycle.prevention = {how}, the others do not"
    return ""


def _addresses(servers: str) -> set[str]:
    return {each.strip() for each in servers.split(",")} - {""}
