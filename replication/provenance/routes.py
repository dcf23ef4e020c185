"""Routes: which flow brings one cluster's records to another, where topic names are kept. Pure.

The rule: of the paths from a record's origin to a cluster the shortest is used, and of two equally
long ones the path whose last flow is first by name. So a record reaches a cluster once: in a mesh
through the direct flow, in a chain or a ring from cluster to cluster. The rule is applied per
topic, because flows may select different ones.

Paths through flows that are not in the file are unknown. Records that come along them are
forwarded, and never to a cluster on their path (P2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from replication.naming.java_replacement import template_of
from replication.naming.policy import is_heartbeat
from replication.naming.selection import TopicSelector
from replication.naming.topic_map import names_for
from replication.provenance.origins import rule_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.settings.flow_settings import Flow


def detects_copies(flow: Flow) -> bool:
    """Say whether a flow detects copies within a topic. With prefixes the topic names do."""
    return not flow.naming.prefixes_all and flow.cycle_prevention != "names"


@dataclass(frozen=True, slots=True)
class Routes:
    """The flows of a file that detect copies within a topic."""

    flows: Mapping[str, Flow]
    selectors: Mapping[str, TopicSelector]
    _rules: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, flows: Iterable[Flow], aliases: Collection[str]) -> Self:
        """Return the routes of a file's flows. Raises ConfigError."""
        chosen = {each.name: each for each in flows if detects_copies(each)}
        named = {name: TopicSelector.for_flow(each, aliases) for name, each in chosen.items()}
        return cls(chosen, named)

    def rule(self, flow: str, topic: str) -> str:
        """Return which copies in ``topic`` of its source a flow copies; empty: all.

        Heartbeats get a prefix on every hop whatever the naming is: their names show copies.
        """
        if flow not in self.flows or is_heartbeat(self.selectors[flow].policy, topic):
            return ""
        key = flow, topic
        if key not in self._rules:
            found = self.flows[flow]
            self._rules[key] = rule_text(self._elsewhere(found, topic), found.cycle_prevention)
        return self._rules[key]

    def _elsewhere(self, flow: Flow, topic: str) -> set[str]:
        """Return the clusters whose records of ``topic`` reach the target through another flow."""
        carrying = [each for each in self.flows.values() if self._carries(each, topic)]
        others = {each.source for each in carrying} - {flow.source, flow.target}
        last = {each: _last_flow(each, flow.target, carrying) for each in others}
        return {each for each, name in last.items() if name not in {None, flow.name}}

    def _carries(self, flow: Flow, topic: str) -> bool:
        """Say whether a flow may bring records to a topic of this name."""
        selector = self.selectors[flow.name]
        if selector.judge(topic).selected and selector.remote_topic(topic) == topic:
            return True
        lines = names_for(flow.naming.mapped, flow.source).values()
        if any(each.target == topic for each in lines):
            return True
        rule = flow.naming.rename
        return rule is not None and template_of(rule).could_make(topic)


def _last_flow(origin: str, target: str, flows: Iterable[Flow]) -> str | None:
    """Return the last flow of the path from ``origin`` to ``target``; None: there is no path."""
    ordered = sorted(flows, key=lambda flow: flow.name)
    reached = {origin}
    while True:
        step = [each for each in ordered if each.source in reached and each.target not in reached]
        if not step:
            return None
        for each in step:
            if each.target == target:
                return each.name
        reached |= {each.target for each in step}
