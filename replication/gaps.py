"""What a flow's selection asks for and its source does not have. Pure."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from replication.internal_topics import BROKER_TOPICS

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.selection import TopicSelector

_SHOWN = 3


def gap(selector: TopicSelector, topics: Collection[str]) -> str:
    """Return in a sentence what is asked for in vain; empty when every pattern fits some topic.

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
    shown = ", ".join(list(texts)[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown
