"""Partitions that wait for an operator's decision, and the decisions that each allows. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.errors import ConfigError
from replication.settings.state_policies import CHOICES
from replication.state import Decision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import Anchor


def open_questions(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Return the anchors of partitions that are halted in a state with choices."""
    return tuple(each for each in anchors if each.state in CHOICES)


def answers(
    anchors: Iterable[Anchor], choice: str, by: str, at_ms: int
) -> tuple[tuple[Decision, ...], tuple[Anchor, ...]]:
    """Return decisions for the questions that know ``choice``, and the questions that do not.

    Raises ConfigError when no question knows it.
    """
    questions = tuple(anchors)
    fitting = [each for each in questions if choice in CHOICES[each.state]]
    if not fitting:
        known = sorted({known for each in questions for known in CHOICES[each.state]})
        raise ConfigError(
            f"{choice!r} does not fit any of these partitions; "
            + (f"the choices are {', '.join(known)}" if known else "no partition awaits a decision")
        )
    decisions = tuple(
        Decision(
            each.flow,
            each.topic,
            each.partition,
            each.state,
            -1 if each.source is None else each.source,
            choice,
            by,
            at_ms,
        )
        for each in fitting
    )
    return decisions, tuple(each for each in questions if each not in fitting)
