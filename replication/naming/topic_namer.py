"""The target names of a flow's topics, with all that a check for conflicts needs.

Pure: from the configuration alone, and the names of topics that the caller has listed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from replication.naming.conflicts import Named
from replication.naming.java_regex import JavaPattern, compile_rules
from replication.naming.policy import is_heartbeat
from replication.naming.selection import TopicSelector

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


@dataclass(frozen=True, slots=True)
class Namer:
    """Names the topics of one flow."""

    flow: Flow
    selector: TopicSelector
    merges: tuple[JavaPattern, ...]
    others: Mapping[str, tuple[TopicSelector, ...]]  # by source: all flows of the configuration

    @classmethod
    def for_flow(cls, flow: Flow, config: Config) -> Self:
        """Return the namer of a flow. Raises ConfigError."""
        others: dict[str, tuple[TopicSelector, ...]] = {}
        for each in config.flows:
            selector = TopicSelector.for_flow(each, config.clusters)
            others[each.source] = (*others.get(each.source, ()), selector)
        return cls(
            flow,
            TopicSelector.for_flow(flow, config.clusters),
            compile_rules(flow.naming.merge),
            others,
        )

    def named(self, topics: Iterable[str]) -> tuple[Named, ...]:
        """Return the names of ``topics``, which are selected."""
        rule = self._rule()
        return tuple(self._named(each, rule) for each in sorted(topics))

    def _named(self, topic: str, rule: str) -> Named:
        target = self.selector.remote_topic(topic)
        return Named(
            self.flow.name,
            topic,
            target,
            rule,
            any(rule.matches(target) for rule in self.merges),
            self._may_join(topic, target),
        )

    def _rule(self) -> str:
        """Return what names topics: two flows with equal rules name equal topics alike.

        A digest: a map file may be long, and what names each topic is also stored.
        """
        naming = self.flow.naming
        written = repr((naming.kind, naming.rename, naming.own, naming.mapped))
        return hashlib.sha256(written.encode()).hexdigest()[:16]

    def _may_join(self, topic: str, target: str) -> bool:
        if self.flow.policies.target_exists == "continue":
            return True
        if is_heartbeat(self.selector.policy, topic):
            return True
        return topic == target and self.flow.source in self._reached(self.flow.target, topic)

    def _reached(self, start: str, topic: str) -> Collection[str]:
        """Return the clusters to which flows copy ``topic`` from ``start``, under its own name.

        If the source is among them, both sides write into a topic of this name on purpose.
        """
        seen, waiting = {start}, [start]
        while waiting:
            for each in self.others.get(waiting.pop(), ()):
                if each.target not in seen and _keeps(each, topic):
                    seen.add(each.target)
                    waiting.append(each.target)
        return seen


def _keeps(selector: TopicSelector, topic: str) -> bool:
    return selector.judge(topic).selected and selector.remote_topic(topic) == topic


def rule_text(flow: Flow) -> str:
    """Return the target name of a source topic ``t``, for operators."""
    naming = flow.naming
    if naming.own is not None:
        text = f"as {naming.own.written} says"
    elif naming.rename is not None:
        text = f"{naming.rename.pattern} → {naming.rename.replacement}"
    else:
        text = "t" if naming.kind == "identity" else f"{flow.source}{naming.separator}t"
    count = len(naming.mapped)
    return f"{text}; {count} {'line' if count == 1 else 'lines'} of a map" if count else text
