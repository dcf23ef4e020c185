"""What a run of a batch flow still has to copy, and how it ended.

Pure. A run copies what the source had when the run saw each partition first. What comes later may
be copied too; the run does not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.durations import format_duration, format_moment
from replication.model import NEEDS_NO_ACTION, PartitionState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import timedelta

    from replication.model import TopicPartition
    from replication.state import AbsentTopic, Anchor, BatchRun

_NAMED = 3  # partitions in a sentence
_GOES_ON = frozenset({PartitionState.WAITING, PartitionState.RUNNING})


@dataclass(frozen=True, slots=True)
class LeftToCopy:
    """The partitions that have not reached the end of their run, in their order.

    ``halted`` ones wait for a person, so no run waits for them.
    """

    open: tuple[TopicPartition, ...] = ()
    halted: tuple[str, ...] = ()  # each with its reason


def left_to_copy(
    ends: Mapping[TopicPartition, int],
    anchors: Mapping[TopicPartition, Anchor],
    generation: int,
    transformed: Mapping[TopicPartition, str],
    absent: Mapping[str, AbsentTopic],
) -> LeftToCopy:
    """Return what is left until ``ends``, the readable ends of the source.

    A unit writes an anchor of each partition when it begins, so what counts is an anchor of this
    driver's ``generation``: one of a former run does not know that a topic was created again or
    truncated meanwhile, or that a halted partition was resolved. ``transformed`` partitions get an
    anchor only with records; each has the reason why it waits, or none. ``absent`` topics are not
    copied any more: what is missing of one waits for a person, unless somebody deselected it.
    """
    left, halted = [], []
    for where, end in sorted(ends.items()):
        anchor = anchors.get(where)
        is_known = where in transformed or _is_of(anchor, generation)
        if reason := transformed.get(where) or _halt(anchor, generation):
            halted.append(f"{where}: {reason}")
        elif end and not (is_known and _is_at(anchor, end)):
            gone = absent.get(where.topic)
            if gone is None:
                left.append(where)
            elif gone.state not in NEEDS_NO_ACTION:
                halted.append(f"{where}: {gone.state}, {gone.reason}")
    return LeftToCopy(tuple(left), tuple(halted))


def batch_age(last: BatchRun | None, limit: timedelta, now_ms: int) -> tuple[bool, str]:
    """Say whether the last run that copied all is younger than ``limit``, and the reason."""
    allowed = format_duration(limit)
    if last is None or not last.good_ms:
        return False, f"no run has copied all yet; batch.max.age is {allowed}: isthmus batch FILE"
    when = f"the last run that copied all ended at {format_moment(last.good_ms)} UTC"
    if now_ms - last.good_ms > limit.total_seconds() * 1000:
        return False, f"{when}, longer ago than batch.max.age = {allowed}: isthmus batch FILE"
    return True, when


def _is_at(anchor: Anchor | None, end: int) -> bool:
    return anchor is not None and anchor.source is not None and anchor.source >= end


def _is_of(anchor: Anchor | None, generation: int) -> bool:
    return anchor is not None and anchor.generation >= generation


def _halt(anchor: Anchor | None, generation: int) -> str:
    """Return why a partition waits for a person; empty: it does not."""
    if anchor is None or anchor.state in _GOES_ON or not _is_of(anchor, generation):
        return ""
    return f"{anchor.state}, {anchor.reason}" if anchor.reason else str(anchor.state)


def copied_records(
    before: Mapping[TopicPartition, Anchor], after: Mapping[TopicPartition, Anchor]
) -> int:
    """Return how many records were copied between two looks at a flow's anchors."""
    return sum(
        max(0, each.records - (before[where].records if where in before else 0))
        for where, each in after.items()
    )


def what_is_left(left: LeftToCopy, others: Iterable[str] = ()) -> str:
    """Return in a sentence why a run did not copy all; empty: it did."""
    behind = f"{_some(left.open)} not copied to the end" if left.open else ""
    return "; ".join(filter(None, (behind, _some(left.halted), *others)))


def _some(those: Collection[object]) -> str:
    named = [str(each) for each in those][:_NAMED]
    more = [f"and {len(those) - _NAMED} more"] if len(those) > _NAMED else []
    return ", ".join([*named, *more])
