"""Write the anchors of a unit's partitions each second, and the last ones at a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.clock import now_ms
from replication.copier.takeover.point_log import store_points
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.client.state_topic.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.takeover.takeover import Takeover
    from replication.state import Anchor

_DRAIN_S = 5.0  # how long a clean end waits for the last responses
_LAST_ANCHORS_S = 5.0  # and how long it tries to write the anchors
_LOOK_S = 0.005
_FEW = 100  # partitions
_ALL_AGAIN_S = 600.0  # a state topic may have lost those of quiet partitions meanwhile


@dataclass(slots=True)
class AnchorWriter:
    """Writes anchors every ``every_s`` seconds, or when a takeover would have much to count.

    ``points`` is the log of offset points, for offset translation.
    """

    every_s: float
    points: StateLog
    takeover: Takeover
    producers: Producers
    sender: Sender
    anchor_changes: set[PartitionCopy] = field(default_factory=set)  # anchors may be outdated
    _written: dict[PartitionCopy, Anchor] = field(default_factory=dict)

    def add(self, partitions: Collection[PartitionCopy]) -> None:
        """Write the anchors of ``partitions`` too from now on."""
        for partition in partitions:
            partition.anchor_changes = self.anchor_changes
            self.anchor_changes.add(partition)

    def remove(self, partitions: Collection[PartitionCopy]) -> None:
        """Write no more anchors of ``partitions``."""
        for partition in partitions:
            partition.anchor_changes = set()
            self.anchor_changes.discard(partition)
            self._written.pop(partition, None)

    def wrote(self, anchors: Mapping[PartitionCopy, Anchor]) -> None:
        """Record anchors that were written in a transaction."""
        self._written.update(anchors)

    async def run(self) -> None:
        """Write the anchors of changed partitions, about every second (D); all every 10 minutes."""
        turn, all_again_at = self.takeover.turn, time.monotonic() + _ALL_AGAIN_S
        while True:
            if time.monotonic() >= all_again_at:
                self._written.clear()
                self.anchor_changes.update(self.producers.partitions)
                all_again_at = time.monotonic() + _ALL_AGAIN_S
            self.sender.acked = 0
            self.sender.anchors_due.clear()
            try:
                async with turn:
                    if self.sender.lease.holds():
                        await self._write(list(self.anchor_changes))
            except Fenced:  # by a unit of this flow that took partitions over, or by a newer driver
                async with turn:
                    await self.producers.renew()
            await self._pause()

    async def _pause(self) -> None:
        """Wait until anchors are due: in a second, or when a takeover would have much to count.

        Not sooner with many changed partitions: then there is little to count in each.
        """
        due = time.monotonic() + self.every_s
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.sender.anchors_due.wait(), self.every_s)
        if len(self.anchor_changes) > _FEW:
            await asyncio.sleep(due - time.monotonic())

    async def _write(self, partitions: Collection[PartitionCopy], *, clean: bool = False) -> None:
        """Write the anchors of ``partitions`` that differ from the last written ones.

        Partitions whose last transaction has an unknown outcome are left out: our position may be
        older than the committed one. They are taken over before they continue.
        """
        now = now_ms()
        partitions = [each for each in partitions if not each.in_doubt]
        self.anchor_changes.difference_update(partitions)
        anchors = {
            partition: partition.offset_points.note(partition.anchor(now, clean=clean))
            for partition in partitions
        }
        moved = {
            partition: anchor
            for partition, anchor in anchors.items()
            if _without_time(anchor) != _without_time(self._written.get(partition))
        }
        try:
            await store_points(self.points, partitions)
            await self.takeover.anchors.append(list(moved.values()))
        except BaseException as problem:
            self.anchor_changes.update(partitions)
            if not isinstance(problem, ClusterUnavailable):  # it is tried again in a second
                raise
        else:
            self._written.update(moved)
            self.anchor_changes.update(
                partition for partition in partitions if partition.is_behind
            )  # its lag in ms grows

    async def drain(self, partitions: Collection[PartitionCopy]) -> None:
        """Wait for outstanding responses, up to a limit."""
        deadline = time.monotonic() + _DRAIN_S
        while (  # noqa: ASYNC110 -- responses of many partitions come by callback
            any(each.queue.responses_due for each in partitions) and time.monotonic() < deadline
        ):
            await asyncio.sleep(_LOOK_S)

    async def end_cleanly(self, partitions: Collection[PartitionCopy]) -> None:
        """Wait for the last responses and write clean anchors: nobody appends any more (G).

        If the target does not acknowledge them in time, or the lease has lapsed (W), the next owner
        counts. Raises FlowTaken when another driver has taken the flow over.
        """
        await self.drain(partitions)
        if not self.sender.lease.holds():
            return
        with contextlib.suppress(TimeoutError, ClusterUnavailable, ClusterRejected):
            async with asyncio.timeout(_LAST_ANCHORS_S):
                try:
                    await self._write(partitions, clean=True)
                except Fenced:
                    await self.producers.renew()
                    await self._write(partitions, clean=True)


def _without_time(anchor: Anchor | None) -> object:
    """Return the fields of an anchor that make it worth writing: not the times."""
    if anchor is None:
        return None
    return (
        anchor.source, anchor.target, anchor.clean, anchor.state, anchor.reason, anchor.source_end,
        anchor.appenders, anchor.behind_ms > 0,
    )  # fmt: skip
