"""Carry a plan out, an outcome an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, assert_never

from replication.errors import ClusterRejected
from replication.topics import CreateTopic, GrowTopic, Keep, Refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.topics import Action


class TopicWriter(Protocol):
    """The part of ``ports.Cluster`` that changes topics."""

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    def grow_topic(self, name: str, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an action; ``problem`` is None when it was done."""

    action: Action
    problem: str | None


def apply_plan(plan: Iterable[Action], target: TopicWriter) -> list[Outcome]:
    """Apply every action; a rejected one does not hold up the others.

    Raises ClusterUnavailable at once: the rest of the plan would fail the same way.
    """
    return [Outcome(action, _apply(action, target)) for action in plan]


def _apply(action: Action, target: TopicWriter) -> str | None:
    """Apply one action. Return why it was not done, or None."""
    try:
        match action:
            case CreateTopic(topic, partitions, replication_factor, configs):
                target.create_topic(topic, partitions, replication_factor, configs)
            case GrowTopic(topic, total):
                target.grow_topic(topic, total)
            case Keep(reason=reason) | Refuse(reason=reason):
                return reason
            case _:
                assert_never(action)
    except ClusterRejected as error:
        return str(error)
    return None
