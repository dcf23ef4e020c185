"""Groups that a step left, in the operation's record: whoever ends the operation tells them. Pure.

A step that set groups is not carried out again by an operator that continues. What it left, and
why, is not known by a look at the clusters then: members that came since are no reason of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import LeftPosition, Operation


def with_left_groups(operation: Operation, left: Iterable[LeaveGroup | LeaveOffset]) -> Operation:
    """Return the operation with what its step under way left; an earlier attempt's is replaced."""
    return replace(operation, left={**operation.left, operation.step: tuple(map(_stored, left))})


def left_groups(operation: Operation, step: str) -> tuple[LeaveGroup | LeaveOffset, ...] | None:
    """Return what a step left; None: it noted nothing, as those of an earlier release did."""
    held = operation.left.get(step)
    return None if held is None else tuple(_parsed(*each) for each in held)


def all_left_groups(operation: Operation) -> tuple[LeaveGroup | LeaveOffset, ...]:
    """Return what all steps left, in their order."""
    return tuple(each for step in operation.left for each in left_groups(operation, step) or ())


def _stored(left: LeaveGroup | LeaveOffset) -> LeftPosition:
    if isinstance(left, LeaveGroup):
        return left.group, "", None, left.reason
    return left.group, left.where.topic, left.where.partition, left.reason


def _parsed(group: str, topic: str, partition: int | None, reason: str) -> LeaveGroup | LeaveOffset:
    if partition is None:
        return LeaveGroup(group, reason)
    return LeaveOffset(group, TopicPartition(topic, partition), reason)
