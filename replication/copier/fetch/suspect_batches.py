"""Batches of the source that could not be read: whom to ask again before one counts as damaged.

Damage may be in one response or on one replica only. So the same broker is asked again, then each
in-sync replica once. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from replication.copier.partition.partition_copy import PartitionCopy

LEAST_ANSWERS = 4  # with pauses of 0.1, 0.2 and 0.4 s between them
SILENT_S = 30.0  # a partition with more to fetch gets data sooner, whatever else is fetched
_MOST_AT_ONCE = 8  # partitions that are looked at: each costs requests


class NextStep(NamedTuple):
    """``replica``: the broker to ask next; ``is_damaged``: all were asked."""

    replica: int | None = None
    is_damaged: bool = False


@dataclass(slots=True)
class _Suspect:
    position: int
    answers: int = 0
    asked: set[int] = field(default_factory=set)


@dataclass(slots=True)
class SuspectBatches:
    """Those of a unit's partitions; a batch is named by the position at which it is fetched."""

    _suspects: dict[PartitionCopy, _Suspect] = field(default_factory=dict)
    _silent_since: dict[PartitionCopy, tuple[int, float]] = field(default_factory=dict)

    def note(self, partition: PartitionCopy, node: int, replicas: Sequence[int]) -> NextStep:
        """Note that broker ``node`` returned the batch at the position damaged, or not at all."""
        suspect = self._suspects.get(partition)
        if suspect is None or suspect.position != partition.position:
            suspect = self._suspects[partition] = _Suspect(partition.position)
        suspect.answers += 1
        suspect.asked.add(node)
        others = [each for each in replicas if each not in suspect.asked]
        if others and suspect.answers > 1:
            return NextStep(others[0])
        return NextStep(is_damaged=suspect.answers >= LEAST_ANSWERS and not others)

    def on_response(self, partition: PartitionCopy, now: float) -> None:
        """Note a good response of ``partition``, and whether the source has more than that."""
        suspect = self._suspects.get(partition)
        if suspect is not None and suspect.position < partition.position:
            del self._suspects[partition]
        if partition.position < partition.source_log.end:
            self._silent_since[partition] = partition.position, now
        else:
            self._silent_since.pop(partition, None)

    def forget(self, partition: PartitionCopy) -> None:
        """Forget a partition that is not fetched any more."""
        self._suspects.pop(partition, None)
        self._silent_since.pop(partition, None)

    def silent(self, partitions: Iterable[PartitionCopy], now: float) -> Iterator[PartitionCopy]:
        """Yield some of ``partitions`` of which the source has more, and returns nothing."""
        listed = [each for each in partitions if self._is_silent(each, now)]
        for partition in listed[:_MOST_AT_ONCE]:
            self._silent_since[partition] = partition.position, now
            yield partition

    def _is_silent(self, partition: PartitionCopy, now: float) -> bool:
        position, since = self._silent_since.get(partition, (partition.position, now))
        is_still = position == partition.position and partition.queue.last is None
        return is_still and partition.fetches and now - since >= SILENT_S
