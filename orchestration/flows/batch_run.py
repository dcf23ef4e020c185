"""Carries out a run of a batch flow: starts its driver, watches it, and says what it copied."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.flows.observation.flow_reader import look_here
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.model import Desired, FlowState, TopicPartition
from replication.supervision.batch_run import copied_records
from replication.supervision.health import has_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.flows.observation.flow_look import FlowLook
    from orchestration.services.launcher import Launcher
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor
    from replication.supervision.driver_supervision import Application

    Anchors = dict[TopicPartition, Anchor]

POLL_S = 1.0
PATIENCE_S = 600.0  # without any change; a takeover that counts, or a cold JVM, takes a minute


@dataclass(frozen=True, slots=True)
class CopiedRange:
    """The offsets of one partition that a run copied: half open, at the source."""

    partition: TopicPartition
    target: str  # topic and partition
    begin: int | None  # None: it was copied for the first time
    end: int
    records: int


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run copied; ``problem``: why not all, empty: all that there was at its start."""

    flow: str
    problem: str
    records: int = 0
    seconds: float = 0.0
    ranges: tuple[CopiedRange, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome in a line."""
        copied = f"copied {self.records:,} records of {len(self.ranges):,} partitions"
        ended = f"; not all: {self.problem}" if self.problem else ""
        return f"{self.flow}: {copied} in {self.seconds:.0f} s{ended}"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: records copied by now, and left when that was looked at."""

    records: int
    left: int
    state: str


@dataclass(slots=True)
class BatchRunner:
    """One run of a batch flow on this machine. ``tell`` is called about every second.

    The driver is a process of its own: if this one is killed, the driver copies to the end.
    """

    flow: Flow
    app: Application
    clusters: ClusterClients
    launcher: Launcher
    tell: Callable[[RunProgress], None]
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _moved_at: float = field(init=False, default=0.0)
    _moved: object = None

    def run(self) -> RunOutcome:
        """Carry the run out. It is stopped when this call is interrupted, or when nothing moves.

        Raises ClusterUnavailable, ClusterRejected if the flow is not to run, FlowTaken if a run is
        under way.
        """
        began, first = self.clock(), self._look()
        self._refuse(first)
        before = _anchors(first)
        stalled = ""
        self.launcher.start(self.app)
        self._moved_at = began
        try:
            while self.launcher.watcher_alive(self.app):
                self.sleep(POLL_S)
                stalled = self._watch(before)
                if stalled:
                    break
        except BaseException:
            self.launcher.stop(self.app)
            raise
        if stalled:
            self.launcher.stop(self.app)
        last = self._look()
        return RunOutcome(
            self.flow.name,
            stalled or self._problem(first, last),
            copied_records(before, _anchors(last)),
            self.clock() - began,
            tuple(_ranges(before, _anchors(last))),
        )

    def run_after_others(self, limit_s: float) -> RunOutcome:
        """Carry out a run that begins from now on; one that is under way may lack the last records.

        That one is waited for, at most ``limit_s``. Raises as ``run``, and ClusterRejected if not
        all was copied.
        """
        deadline = self.clock() + limit_s
        while True:
            try:
                found = self.run()
            except FlowTaken:
                if self.clock() > deadline:
                    raise
                self.sleep(POLL_S)
            else:
                break
        if found.problem:
            raise ClusterRejected(found.sentence)
        return found

    def _look(self) -> FlowLook:
        look = look_here(self.flow, self.app, self.clusters, self.launcher)
        if look.seen.target_silence is not None:
            raise ClusterUnavailable(f"{self.flow.name}: {look.seen.target_silence}")
        return look

    def _refuse(self, look: FlowLook) -> None:
        seen, name = look.seen, self.flow.name
        if seen.desired is not Desired.RUN:
            raise ClusterRejected(
                f"{name} has the desired state {seen.desired}, set by {seen.desired_by}: resume it "
                f"first with isthmus resume FILE --flow {name.replace('->', ':')}"
            )
        alive = self.launcher.watcher_alive(self.app) or self.launcher.driver_alive(self.app)
        status = seen.status
        if alive or (status is not None and has_driver(seen) and status.state != FlowState.STOPPED):
            where = f" (process {status.pid} on {status.host})" if status is not None else ""
            raise FlowTaken(f"a run of {name} is under way{where}: wait until it has ended")

    def _watch(self, before: Anchors) -> str:
        """Tell how far the run is; return why it is to end, if nothing has moved for long."""
        look = look_here(self.flow, self.app, self.clusters, self.launcher)
        anchors, health = _anchors(look), look.health
        if look.seen.target_silence is None:
            records = copied_records(before, anchors)
            self.tell(RunProgress(records, look.lag().records, health.state))
        moved = [(each.source, each.state) for each in anchors.values()], health.state
        if moved != self._moved:
            self._moved, self._moved_at = moved, self.clock()
        if self.clock() - self._moved_at < PATIENCE_S:
            return ""
        return f"nothing moved for {PATIENCE_S:.0f} s: {health.state}, {health.reason}"

    def _problem(self, first: FlowLook, last: FlowLook) -> str:
        before, run = first.seen.run, last.seen.run
        if run is None or (before is not None and run.generation == before.generation):
            log = self.launcher.state_directory.app(self.app.name) / "driver.log"
            return f"its driver ended without a result; see {log}"
        return run.problem


def _anchors(look: FlowLook) -> Anchors:
    return {TopicPartition(each.topic, each.partition): each for each in look.seen.anchors}


def _ranges(before: Anchors, after: Anchors) -> Iterator[CopiedRange]:
    """Yield what was copied of each partition that moved, in their order."""
    for where, anchor in sorted(after.items()):
        former = before.get(where)
        begin = None if former is None else former.source
        if anchor.source is None or anchor.source == begin:
            continue
        copied = copied_records({} if former is None else {where: former}, {where: anchor})
        target = f"{anchor.target_topic}-{anchor.partition}"
        if begin is not None or copied:
            yield CopiedRange(where, target, begin, anchor.source, copied)
