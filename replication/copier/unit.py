"""One unit for one epoch: take partitions over, copy, keep anchors, end cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.copier.appending import Appending
from replication.copier.judging import Judge
from replication.copier.letters import DeadLetters
from replication.copier.logs import StateLog
from replication.copier.network import Fenced
from replication.copier.starting import start
from replication.copier.strangers import Strangers
from replication.copier.tending import Tending
from replication.copier.transactions import Transactions
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.model import Mode, PartitionState
from replication.state import (
    PRODUCERS_TOPIC,
    Control,
    FlowStatus,
    letters_topic,
    offsets_topic,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.copier.ends import Clusters
    from replication.copier.lane import Lane
    from replication.copier.spec import UnitSpec
    from replication.progress import Claimant
    from replication.state import Anchor, Stored

_DRAIN_S = 5.0  # how long a clean end waits for the last answers
_LAST_WORD_S = 5.0  # and how long it tries to say so
_START_GRACE_S = 2.0  # for a start that is under way when the epoch's end is heard
_STATUS_TAIL = 200  # records of the status topic that are looked at when an epoch begins
_CONTROL_WAIT_MS = 2000  # what comes is heard at once; the driver beats every second anyway
_RETRY_S = 0.5
_START_PAUSES_S = (0.2, 1.0)


@dataclass(slots=True)
class Unit:
    """The copier of one unit. ``run`` copies until the epoch's end."""

    spec: UnitSpec
    ends: Clusters
    lanes: list[Lane] = field(default_factory=list)
    takeovers: int = 0
    _before: tuple[int, int] = (0, 0)  # records and bytes when the epoch began
    _written: dict[Lane, Anchor] = field(default_factory=dict)
    _news: set[Lane] = field(default_factory=set)  # lanes whose anchors may be out of date
    _points: StateLog = field(init=False)

    async def run(self) -> None:
        """Copy until the epoch is over.

        Raises FlowTaken when another driver is at work, ClusterUnavailable and ClusterRejected
        when the unit as a whole could not begin. Single partitions only change their state.
        """
        until = time.monotonic() + self.spec.epoch_s
        watching = asyncio.create_task(self._watch(until))
        try:
            me = await self._begin_before(watching, until)
            await self._copy(me, watching, until)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self.ends.target.drop(status_topic(self.spec.source_alias))

    async def _begin_before(self, watching: asyncio.Task[None], until: float) -> Claimant:
        """Start, unless the epoch ends first: clusters that do not answer must not outlast it."""
        begin = asyncio.create_task(self._begin())
        left = max(0.0, until - time.monotonic())
        try:
            await asyncio.wait({begin, watching}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()  # another driver may be at work
                await asyncio.wait({begin}, timeout=_START_GRACE_S)
        finally:
            if not begin.done():
                begin.cancel()
                await asyncio.gather(begin, return_exceptions=True)
        if not begin.cancelled():
            me, self.lanes, self.takeovers = begin.result()
            return me
        raise ClusterUnavailable(
            f"{self.spec.flow}: the clusters did not answer before the epoch's end"
        )

    async def _copy(self, me: Claimant, watching: asyncio.Task[None], until: float) -> None:
        self._before = self._totals()
        self.spec = self.spec.for_claimant(me)
        self._points = StateLog(self.ends.target, offsets_topic(self.spec.source_alias))
        taken = [each.claimed.isolation for each in self.lanes if each.topic_id]
        if taken:  # what a crash left behind may ask for another one for this epoch (E)
            self.spec = replace(self.spec, isolation=taken[0])
        for lane in self.lanes:
            lane.news = self._news
            self._news.add(lane)
        appending = Appending(self.ends.target)
        judge = Judge(self.spec, self.ends.takeover.anchors, DeadLetters(self._letters()))
        tending = Tending(self.spec, self.ends, self.lanes, me, appending, judge)
        appending.on_trouble = tending.on_trouble
        registry = StateLog(self.ends.target, PRODUCERS_TOPIC)
        strangers = Strangers(self.spec, self.ends.target, registry, appending.settle)
        appending.on_gap = strangers.note
        work = [tending.run(), self._keep_anchors(tending), strangers.run()]
        transactions = Transactions(self.ends, tending, appending, self._written.update)
        if self.spec.is_transactional:
            appending.transactional_id, appending.on_held = me.transactional_id, transactions.ask
            work.append(transactions.run())
        tasks = [asyncio.create_task(each) for each in work]
        try:
            left = max(0.0, until - time.monotonic())
            done, _ = await asyncio.wait(
                {*tasks, watching}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
        finally:
            if self.spec.is_transactional:
                await transactions.end()
            appending.stopped = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await tending.stop()
            self.takeovers += tending.takeovers
        await self._end_cleanly(tending)

    def _letters(self) -> StateLog | None:
        if not self.spec.policies.dead_letters:
            return None
        return StateLog(self.ends.target, letters_topic(self.spec.source_alias))

    async def _begin(self) -> tuple[Claimant, list[Lane], int]:
        """Start; what is out of reach for a moment shall not cost the epoch."""
        for pause in _START_PAUSES_S:
            try:
                return await start(self.spec, self.ends)
            except ClusterUnavailable:
                await asyncio.sleep(pause)
        return await start(self.spec, self.ends)

    @property
    def copied(self) -> tuple[int, int]:
        """Records and bytes acked in this epoch, and those counted, which nobody reported."""
        records, size = self._totals()
        return records - self._before[0], size - self._before[1]

    @property
    def not_running(self) -> int:
        if not self.lanes:  # the unit as a whole could not begin
            return len(self.spec.partitions)
        return sum(each.shown[0] is not PartitionState.RUNNING for each in self.lanes)

    @property
    def at_least_once(self) -> int:
        return sum(each.mode == Mode.AT_LEAST_ONCE for each in self.lanes)

    def _totals(self) -> tuple[int, int]:
        return sum(each.records for each in self.lanes), sum(each.bytes for each in self.lanes)

    async def _keep_anchors(self, tending: Tending) -> None:
        """Write anchors of lanes that moved, about every second (D)."""
        while True:
            try:
                async with self.ends.takeover.turn:
                    await self._write_anchors()
            except Fenced:  # by a sister unit that took over what was ours before, or by a driver
                async with self.ends.takeover.turn:
                    await tending.renew()
            await asyncio.sleep(self.spec.anchor_every_s)

    async def _write_anchors(self, *, clean: bool = False) -> None:
        """Write what is new of the lanes that have news, at a clean end of all of them."""
        now = int(time.time() * 1000)
        looked = self.lanes if clean else list(self._news)
        self._news.clear()
        anchors = {lane: lane.course.note(lane.anchor(now, clean=clean)) for lane in looked}
        moved = {
            lane: anchor
            for lane, anchor in anchors.items()
            if _without_time(anchor) != _without_time(self._written.get(lane))
        }
        try:
            await self._write_points(looked)
            await self.ends.takeover.anchors.append(list(moved.values()))
        except BaseException as problem:
            self._news.update(looked)
            if not isinstance(problem, ClusterUnavailable):  # the next second is soon enough
                raise
        else:
            self._written.update(moved)
            self._news.update(lane for lane in looked if lane.is_behind)  # its age counts on

    async def _write_points(self, lanes: Iterable[Lane]) -> None:
        """Write where offsets leave the straight, before anchors that count on it."""
        courses = [each.course for each in lanes if each.course.pending]
        await self._points.append([point for each in courses for point in each.pending])
        for each in courses:
            each.pending.clear()

    async def _watch(self, until: float) -> None:
        """Wait for the epoch's end: its time, or the driver's word."""
        log = StateLog(self.ends.target, status_topic(self.spec.source_alias))
        while (left := until - time.monotonic()) > 0:
            try:
                if log.position < 0:
                    await log.start_near_end(_STATUS_TAIL)
                wait_ms = min(_CONTROL_WAIT_MS, max(1, int(left * 1000)))
                came = await log.wait_for_more(wait_ms)
            except ClusterUnavailable:
                await asyncio.sleep(min(_RETRY_S, left))
                continue
            if any(self._ends_epoch(each) for each in came):
                return

    def _ends_epoch(self, record: Stored) -> bool:
        spec = self.spec
        match record:
            case FlowStatus(flow=spec.flow) if record.generation > spec.generation:
                raise FlowTaken(
                    f"{spec.flow}: the driver on {record.host} (process {record.pid}) took over"
                )
            case Control(flow=spec.flow, generation=spec.generation):
                return record.end_epoch >= spec.epoch
            case _:
                return False

    async def _end_cleanly(self, tending: Tending) -> None:
        """Wait for the last answers and say in the anchors that nobody appends any more (G).

        A target that does not take that word in time is left alone: the next owner counts.
        Raises FlowTaken when it turns out that another driver is at work.
        """
        deadline = time.monotonic() + _DRAIN_S
        while (  # noqa: ASYNC110 -- answers come to many lanes, by callback
            any(each.answers_due for each in self.lanes) and time.monotonic() < deadline
        ):
            await asyncio.sleep(0.005)
        with contextlib.suppress(TimeoutError, ClusterUnavailable, ClusterRejected):
            async with asyncio.timeout(_LAST_WORD_S):
                try:
                    await self._write_anchors(clean=True)
                except Fenced:
                    await tending.renew()
                    await self._write_anchors(clean=True)


def _without_time(anchor: Anchor | None) -> object:
    """Return what of an anchor is news: not the clock."""
    if anchor is None:
        return None
    return (
        anchor.source, anchor.target, anchor.clean, anchor.state, anchor.reason, anchor.source_end,
        anchor.appenders, anchor.behind_ms > 0,
    )  # fmt: skip
