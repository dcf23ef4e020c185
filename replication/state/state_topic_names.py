"""Names of the topics in which Isthmus keeps its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

COMPACT = "compact"  # the cleanup.policy of all topics with state
ANCHORS_BEGIN = "isthmus-anchors."
PRODUCERS_TOPIC = "isthmus-producers.internal"
PROBE_TOPIC = "isthmus-probe.internal"  # holds no data: the fencing probe appends to it


def anchors_topic(source: str) -> str:
    """Return the topic with the anchors of all flows from ``source``."""
    return f"{ANCHORS_BEGIN}{source}.internal"


def is_anchors_topic(name: str) -> bool:
    """Say whether a topic holds the anchors of flows from some source."""
    return _fits(name, anchors_topic)


def offsets_topic(source: str) -> str:
    """Return the topic with the offset points of all flows from ``source``."""
    return f"isthmus-offsets.{source}.internal"


def is_offsets_topic(name: str) -> bool:
    """Say whether a topic holds the offset points of flows from some source."""
    return _fits(name, offsets_topic)


def losing_policy(policy: str | None) -> str:
    """Say what is wrong with a state topic's cleanup.policy: a predicate; empty: nothing.

    None: it may not be seen, and is trusted.
    """
    if policy in {None, COMPACT}:
        return ""
    return (
        f"has cleanup.policy = {policy}, so it would lose state that is still needed: set it to "
        f"{COMPACT}"
    )


def _fits(name: str, named: Callable[[str], str]) -> bool:
    begin, end = named("\0").split("\0")
    return name.startswith(begin) and name.endswith(end)


def status_topic(source: str) -> str:
    """Return the topic with status, intent and control of all flows from ``source``."""
    return f"isthmus-status.{source}.internal"


def flow_topics(source: str) -> tuple[str, ...]:
    """Return the topics that every flow from ``source`` needs."""
    return anchors_topic(source), offsets_topic(source), status_topic(source)


def dead_letters_topic(source: str) -> str:
    """Return the topic with records from ``source`` that the target rejected and the flow skips."""
    return f"isthmus-dead-letters.{source}.internal"
