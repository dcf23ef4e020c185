"""Which topics and groups belong to a flow, and which rule excludes the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from replication.errors import ConfigError
from replication.naming.internal_topics import BROKER_TOPICS
from replication.naming.java_regex import JavaPattern, compile_rules
from replication.naming.policy import (
    ReplicationPolicy,
    is_heartbeat,
    policy_for,
    would_cycle,
)
from replication.settings.naming_settings import Selection
from replication.state.drill_names import canary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from replication.settings.flow_settings import Flow


class SelectionVerdict(StrEnum):
    """Why a topic or group is selected, or not."""

    SELECTED = "selected"
    UNMATCHED = "unmatched"  # no pattern of the include list fits
    EXCLUDED = "excluded"
    INTERNAL = "internal"
    CYCLE = "cycle"
    NAMELESS = "nameless"  # the naming policy gave no name that can be used


@dataclass(frozen=True, slots=True)
class Judgement:
    """A name, the verdict, and the reason an operator reads."""

    name: str
    verdict: SelectionVerdict
    reason: str

    @property
    def selected(self) -> bool:
        """Whether it is selected."""
        return self.verdict is SelectionVerdict.SELECTED


@dataclass(frozen=True, slots=True)
class NameFilter:
    """Patterns matched whole; an exclusion wins, an empty list matches nothing."""

    key: str  # topics or groups: how messages name the lists
    include: tuple[JavaPattern, ...]
    exclude: tuple[JavaPattern, ...]
    default_exclude: Collection[str] = ()

    def judge(self, name: str) -> Judgement:
        """Return whether ``name`` is selected, and by which rule."""
        included = next((rule for rule in self.include if rule.matches(name)), None)
        if included is None:
            return Judgement(name, SelectionVerdict.UNMATCHED, f"no pattern of {self.key} matches")
        against = next((rule for rule in self.exclude if rule.matches(name)), None)
        if against is None:
            return Judgement(
                name, SelectionVerdict.SELECTED, f"matches '{included.text}' of {self.key}"
            )
        reason = f"excluded by '{against.text}' of {self.key}.exclude"
        if against.text in self.default_exclude:
            reason += ", a default"
            if self.key == "topics":
                reason = f"matched but not replicated: internal by name ({reason})"
        return Judgement(name, SelectionVerdict.EXCLUDED, reason)


@dataclass(frozen=True, slots=True)
class TopicSelector:
    """Judges the topics of a flow's source."""

    source: str
    target: str
    topics: NameFilter
    policy: ReplicationPolicy
    heartbeats: bool = True

    @classmethod
    def for_flow(cls, flow: Flow, aliases: Collection[str]) -> Self:
        """Return the selector of a flow. Raises ConfigError for a pattern that cannot be used."""
        return cls(
            flow.source,
            flow.target,
            topic_filter(flow.selection),
            policy_for(flow, aliases),
            flow.selection.heartbeats,
        )

    def judge(self, topic: str) -> Judgement:
        """Say whether ``topic`` is copied, and why or why not."""
        try:
            return self._judge(topic)
        except ConfigError as error:  # a custom policy; other topics are still copied
            return Judgement(
                topic, SelectionVerdict.NAMELESS, f"matched but not replicated: {error}"
            )

    def _judge(self, topic: str) -> Judgement:
        judged = self.topics.judge(topic)
        if self.heartbeats and not judged.selected and is_heartbeat(self.policy, topic):
            judged = Judgement(topic, SelectionVerdict.SELECTED, "is a heartbeat topic")
        if judged.verdict is SelectionVerdict.UNMATCHED:
            return judged
        reason = self.policy.internal_reason(topic)
        if reason and topic != canary_of(self.source):
            return Judgement(
                topic, SelectionVerdict.INTERNAL, f"matched but not replicated: {reason}"
            )
        if judged.selected and (through := self._circle(topic)):
            return Judgement(
                topic,
                SelectionVerdict.CYCLE,
                f"comes from {through}: copying it would create a replication cycle",
            )
        if judged.selected:
            self.remote_topic(topic)  # raises where there is none
        if judged.selected and self.policy.looks_internal(topic):
            reason = f"{judged.reason}, although MirrorMaker 2 treats the name as internal"
            return Judgement(topic, SelectionVerdict.SELECTED, reason)
        return judged

    def selected(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``topics`` that are copied, sorted."""
        return tuple(topic for topic in sorted(topics) if self.judge(topic).selected)

    def passed_over(self, topics: Iterable[str]) -> tuple[Judgement, ...]:
        """Return the topics that a name rule keeps from being copied although they matched."""
        judged = (self.judge(topic) for topic in sorted(topics))
        return tuple(
            each
            for each in judged
            if each.verdict not in (SelectionVerdict.SELECTED, SelectionVerdict.UNMATCHED)
        )

    def nameless(self, topics: Iterable[str]) -> tuple[Judgement, ...]:
        """Return the topics that the naming policy fails to name."""
        return tuple(
            each for each in self.passed_over(topics) if each.verdict is SelectionVerdict.NAMELESS
        )

    def remote_topic(self, topic: str) -> str:
        """Return the name of ``topic`` on the target.

        Raises ConfigError where a custom naming policy fails or returns no topic name.
        """
        return self.policy.remote_topic(self.source, topic)

    def _circle(self, topic: str) -> str | None:
        """Return the end of this flow where ``topic`` has already been, by its name.

        That it has been on the source is no cycle for MirrorMaker 2. Yet it shows that another
        replicator gives the same name to another cluster, and prefixes would grow for ever.
        """
        ends = (self.target, self.source)
        return next((end for end in ends if would_cycle(self.policy, topic, end)), None)


def topic_filter(selection: Selection) -> NameFilter:
    """Return the filter that ``topics`` and ``topics.exclude`` make. Raises Untranslatable."""
    default = Selection.model_fields["topics_exclude"].default
    return NameFilter(
        "topics",
        compile_rules(selection.topics),
        compile_rules(selection.topics_exclude),
        default,
    )


def group_filter(selection: Selection) -> NameFilter:
    """Return the filter that ``groups`` and ``groups.exclude`` make. Raises Untranslatable."""
    default = Selection.model_fields["groups_exclude"].default
    return NameFilter(
        "groups",
        compile_rules(selection.groups),
        compile_rules(selection.groups_exclude),
        default,
    )


_SHOWN = 3


def gap(selector: TopicSelector, topics: Collection[str]) -> str:
    """Return in a sentence which patterns match nothing; empty if every pattern matches some topic.

    ``topics`` are those that the source shows to the flow's user.
    """
    rules = selector.topics.include
    idle = [rule.text for rule in rules if not any(map(rule.matches, topics))]
    if not selector.selected(topics):
        return _nothing(selector, topics, idle)
    if not idle:
        return ""
    return f"no topic of the source matches {listed(idle)} yet{_near(idle, topics)}"


def _nothing(selector: TopicSelector, topics: Collection[str], idle: Collection[str]) -> str:
    if not selector.topics.include:
        return "topics is empty, so no topic is selected"
    if BROKER_TOPICS.issuperset(topics):  # those may be shown for the sake of groups
        return (
            f"{selector.source} lists no topics: it has none, or Isthmus' user may not "
            "describe them"
        )
    if kept := selector.passed_over(topics):
        return f"no topic is copied; {kept[0].name}: {kept[0].reason}"
    return f"0 of {len(topics)} visible topics match {listed(idle)}{_near(idle, topics)}"


def _near(idle: Collection[str], topics: Collection[str]) -> str:
    plain = [re.sub(r"[\\^$.*+?()\[\]{}|]", "", text) for text in idle]
    near = dict.fromkeys(
        name for text in plain for name in get_close_matches(text, sorted(topics), _SHOWN)
    )
    return f"; near: {listed(near)}" if near else ""


def listed(texts: Collection[str], most: int = _SHOWN) -> str:
    """Return the first ``most`` of ``texts``, and how many more there are."""
    first = ", ".join(list(texts)[:most])
    return f"{first} and {len(texts) - most} more" if len(texts) > most else first
