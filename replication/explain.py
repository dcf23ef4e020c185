"""A plan as text: what the dry run prints and what the log says of each action."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from replication.topics import BROKER_DEFAULT, CreateTopic, GrowTopic, Keep, Refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.topics import Action


def explain(plan: Iterable[Action]) -> str:
    """Return a line an action, or a sentence when there is nothing to do."""
    return "\n".join(map(explain_action, plan)) or "nothing to do: the target has every topic"


def explain_action(action: Action) -> str:
    """Return one action in a line."""
    match action:
        case CreateTopic(topic, partitions, replication_factor):
            replicas = _replicas(replication_factor)
            return f"create {topic}: {_count(partitions, 'partition')}, {replicas}"
        case GrowTopic(topic, total):
            return f"grow {topic} to {_count(total, 'partition')}"
        case Keep(topic, reason):
            return f"keep {topic} as it is: {reason}"
        case Refuse(topic, reason):
            return f"refuse {topic}: {reason}"
        case _:
            assert_never(action)


def _replicas(factor: int) -> str:
    if factor == BROKER_DEFAULT:
        return "the broker's default replication factor"
    return f"replication factor {factor}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
