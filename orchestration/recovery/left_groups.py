"""Groups that a step left, in the operation's record: whoever ends the operation tells them. Pure.

A step that set groups is not carried out again by an operator that continues. What it left, and
why, is not known by a look at the clusters then: members that came since are no reason of it.

An operation is one record, which brokers and clients limit to 1 MB, and it is written each second
while a step runs: above ``_MOST_BYTES`` of a step the others are counted only.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
from replication.planning.explain import counted
from replication.state import LeftPosition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import Operation

_MOST_BYTES = 200_000  # some 700 positions; a failback has two steps that set groups


def with_left_groups(
    operation: Operation, left: Iterable[LeaveGroup | LeaveOffset], most_bytes: int = _MOST_BYTES
) -> Operation:
    """Return the operation with what its step under way left; an earlier attempt's is replaced.

    Of these the first ones, up to ``most_bytes`` as JSON, and how many there are besides.
    """
    found = [_stored(each) for each in left]
    ends = list(accumulate(len(json.dumps(each)) for each in found))
    kept = tuple(found[: bisect_right(ends, most_bytes)])
    return replace(
        operation,
        left={**operation.left, operation.step: kept},
        more_left={**operation.more_left, operation.step: len(found) - len(kept)},
    )


def left_groups(operation: Operation, step: str) -> tuple[LeaveGroup | LeaveOffset, ...] | None:
    """Return what a step left; None: it noted nothing, as those of an earlier release did."""
    held = operation.left.get(step)
    return None if held is None else tuple(_parsed(*each) for each in held)


def all_left_groups(operation: Operation) -> tuple[LeaveGroup | LeaveOffset, ...]:
    """Return what all steps left, in the order in which they ended; the one under way is last."""
    ended = [name for name, _, _ in operation.done]
    steps = sorted(operation.left, key=lambda s: ended.index(s) if s in ended else len(ended))
    return tuple(each for step in steps for each in left_groups(operation, step) or ())


def more_left(operation: Operation | None) -> int:
    """Return how many more positions an operation's steps left than its record names."""
    return 0 if operation is None else sum(operation.more_left.values())


def more_left_line(count: int) -> str:
    """Return the sentence about these."""
    return f"and {counted(count, 'more group position')} left: the step that set groups named them"


def _stored(left: LeaveGroup | LeaveOffset) -> LeftPosition:
    if isinstance(left, LeaveGroup):
        return LeftPosition(left.group, None, None, left.reason)
    return LeftPosition(left.group, left.where.topic, left.where.partition, left.reason)


def _parsed(
    group: str, topic: str | None, partition: int | None, reason: str
) -> LeaveGroup | LeaveOffset:
    if topic is None or partition is None:
        return LeaveGroup(group, reason)
    return LeaveOffset(group, TopicPartition(topic, partition), reason)
