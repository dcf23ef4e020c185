"""Keep the anchors of a unit's lanes up to date, and write the last ones at a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.client.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.takeover.takeover import Takeover
    from replication.state import Anchor

_DRAIN_S = 5.0  # how long a clean end waits for the last answers
_LAST_WORD_S = 5.0  # and how long it tries to say so
_LOOK_S = 0.005
_FEW = 100  # lanes


@dataclass(slots=True)
class AnchorWriter:
    """Writes anchors every ``every_s`` seconds, or when a takeover would have much to count.

    ``points`` is the log of offset points, from which offsets are translated.
    """

    every_s: float
    points: StateLog
    takeover: Takeover
    producers: Producers
    sender: Sender
    anchor_changes: set[PartitionCopy] = field(
        default_factory=set
    )  # lanes whose anchors may be out of date
    _written: dict[PartitionCopy, Anchor] = field(default_factory=dict)

    def keep(self, partitions: Collection[PartitionCopy]) -> None:
        """Write the anchors of ``partitions`` too from now on."""
        for partition in partitions:
            partition.anchor_changes = self.anchor_changes
            self.anchor_changes.add(partition)

    def forget(self, partitions: Collection[PartitionCopy]) -> None:
        """Write nothing more of ``partitions``."""
        for partition in partitions:
            partition.anchor_changes = set()
            self.anchor_changes.discard(partition)
            self._written.pop(partition, None)

    def wrote(self, anchors: Mapping[PartitionCopy, Anchor]) -> None:
        """Note anchors that somebody else has written."""
        self._written.update(anchors)

    async def run(self) -> None:
        """Write anchors of lanes that moved, about every second (D)."""
        turn = self.takeover.turn
        while True:
            self.sender.acked = 0
            self.sender.anchors_due.clear()
            try:
                async with turn:
                    await self._write(list(self.anchor_changes))
            except Fenced:  # by a sister unit that took over what was ours before, or by a driver
                async with turn:
                    await self.producers.renew()
            await self._pause()

    async def _pause(self) -> None:
        """Wait until anchors are due: in a second, or when a takeover would have much to count.

        Not sooner when there are many of them, for then it is little of each partition.
        """
        due = time.monotonic() + self.every_s
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.sender.anchors_due.wait(), self.every_s)
        if len(self.anchor_changes) > _FEW:
            await asyncio.sleep(due - time.monotonic())

    async def _write(self, looked: Collection[PartitionCopy], *, clean: bool = False) -> None:
        """Write what is new of ``looked``.

        Not of lanes whose last transaction may be committed or not: what we know of them may be
        older than that. They are taken over before they go on.
        """
        now = int(time.time() * 1000)
        looked = [each for each in looked if not each.in_doubt]
        self.anchor_changes.difference_update(looked)
        anchors = {
            partition: partition.offset_points.note(partition.anchor(now, clean=clean))
            for partition in looked
        }
        moved = {
            partition: anchor
            for partition, anchor in anchors.items()
            if _without_time(anchor) != _without_time(self._written.get(partition))
        }
        try:
            await self._write_points(looked)
            await self.takeover.anchors.append(list(moved.values()))
        except BaseException as problem:
            self.anchor_changes.update(looked)
            if not isinstance(problem, ClusterUnavailable):  # the next second is soon enough
                raise
        else:
            self._written.update(moved)
            self.anchor_changes.update(
                partition for partition in looked if partition.is_behind
            )  # its age counts on

    async def _write_points(self, partitions: Iterable[PartitionCopy]) -> None:
        """Write where offsets leave the straight, before anchors that count on it."""
        all_offset_points = [
            each.offset_points for each in partitions if each.offset_points.pending
        ]
        await self.points.append([point for each in all_offset_points for point in each.pending])
        for each in all_offset_points:
            each.pending.clear()

    async def drain(self, partitions: Collection[PartitionCopy]) -> None:
        """Wait for the answers that are due, but not for ever."""
        deadline = time.monotonic() + _DRAIN_S
        while (  # noqa: ASYNC110 -- answers come to many lanes, by callback
            any(each.queue.responses_due for each in partitions) and time.monotonic() < deadline
        ):
            await asyncio.sleep(_LOOK_S)

    async def end_cleanly(self, partitions: Collection[PartitionCopy]) -> None:
        """Wait for the last answers and say in the anchors that nobody appends any more (G).

        A target that does not take that word in time is left alone: the next owner counts.
        Raises FlowTaken when it turns out that another driver is at work.
        """
        await self.drain(partitions)
        with contextlib.suppress(TimeoutError, ClusterUnavailable, ClusterRejected):
            async with asyncio.timeout(_LAST_WORD_S):
                try:
                    await self._write(partitions, clean=True)
                except Fenced:
                    await self.producers.renew()
                    await self._write(partitions, clean=True)


def _without_time(anchor: Anchor | None) -> object:
    """Return what of an anchor is news: not the clock."""
    if anchor is None:
        return None
    return (
        anchor.source, anchor.target, anchor.clean, anchor.state, anchor.reason, anchor.source_end,
        anchor.appenders, anchor.behind_ms > 0,
    )  # fmt: skip
