"""Steps that a failover and a switchover share, on a flow's clusters; each may run twice."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from orchestration.flows.batch_run import BatchRunner
from orchestration.flows.intents import signature, write_intent
from orchestration.recovery.copy_completion import wait_until_copied
from orchestration.recovery.step_retry import WaitLimits
from orchestration.recovery.unwritten_target import UnwrittenTarget
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.client.state_topic.state_log import StateLog
from replication.clock import now_ms
from replication.errors import ClusterRejected, ConfigError
from replication.model import Desired, FlowState
from replication.planning.explain import counted
from replication.recovery.flow_fence import Appenders, FenceResult, fence_flow
from replication.recovery.procedure import (
    FAILBACK,
    RUNNING,
    is_left_stopped,
    open_since,
    standing,
    stopped_by,
)
from replication.recovery.proven_positions import prove_positions
from replication.state import (
    DivergedTail,
    FlowStatus,
    ProvenPosition,
    RecreatedTopic,
    anchors_topic,
    status_topic,
)
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.recovery.operator import Operator
    from orchestration.services.state_directory import StateDirectory
    from replication.adapters.offset_reader import OffsetReader
    from replication.offsets.groups.group_sync import GroupSync
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Operation

_STOP_S = 40.0  # an epoch's end, the last responses, the last anchors
_SILENT_S = 8.0  # a driver writes its status every second
_POLL_S = 0.3
Kept = TypeVar("Kept", FlowStatus, ProvenPosition, DivergedTail, RecreatedTopic)


@dataclass(slots=True)
class FlowOperation:
    """An operation that moves a flow's clients to the cluster that it copies to."""

    flow: Flow
    config: Config
    clusters: ClusterClients
    operator: Operator
    reader: OffsetReader
    sync: GroupSync
    state_directory: StateDirectory = field(
        default_factory=state_directory, kw_only=True
    )  # of drivers that are started here
    _fence: FenceResult = field(default_factory=FenceResult, init=False)
    _limits: WaitLimits = field(default_factory=WaitLimits, init=False)

    VERB: ClassVar[str]

    def refuse_if_open(self) -> None:
        """Raise ConfigError if the target is open already, unless ours is to be finished."""
        last = self.operator.last()
        since = open_since(last, self.flow.target)
        if since and last is not None and not self._continues(last):
            raise ConfigError(f"{self.flow.name}: {since}: nothing to do")

    def unfinished(self) -> Operation | None:
        """Return the flow's last operation, if it is one of ours that is to be finished."""
        last = self.operator.last()
        return last if last and (last.verb, last.state) == (self.VERB, RUNNING) else None

    def _continues(self, last: Operation) -> bool:
        """Say whether ours continues an operation, or takes its place: the source is lost again."""
        return last.state == RUNNING and last.verb in {self.VERB, FAILBACK}

    def close_target(self) -> str:
        """Close the target again and let the flow run. Raises ClusterRejected if clients wrote."""
        last = self.operator.last()
        if last is not None and is_left_stopped(last, self.operator.intent()):
            return self._resume()
        if last is None or last.writable != self.flow.target:
            rest = standing(last, self.flow.target)
            raise ConfigError(
                f"{self.flow.name}: {self.flow.target} is not open by a failover or a switchover"
                + (f"; {rest}" if rest else "")
            )
        unwritten = UnwrittenTarget(self.flow, self.reader, self.operator.store)
        unwritten.require(self.proven(last.id), f"the {last.verb}")
        self.operator.end_undone(last)
        return self._resume()

    def _resume(self) -> str:
        write_intent(self.flow, Desired.RUN, self.clusters)
        return f"{self.flow.target} is closed again, and {self.flow.name} will run within seconds"

    # -- steps -------------------------------------------------------------------------------

    def copied(self, flow: Flow, limit_s: float) -> str:
        """Wait until a flow has copied all; a batch flow that has not is run.

        Not longer than ``limit_s``, but a run ends by itself. Raises ClusterRejected.
        """
        ran = ""
        if flow.is_batch:
            with suppress(ClusterRejected):
                return wait_until_copied(flow, self.config, 0)
            ran = f"{self._ran(flow, limit_s)}; "
        return ran + self._limits.within(
            limit_s,
            f"draining {flow.name}",
            lambda left_s: wait_until_copied(flow, self.config, limit_s, left_s),
        )

    def _ran(self, flow: Flow, limit_s: float) -> str:
        app = next(each for each in applications(self.config) if flow.name in each.flows)
        launcher = Launcher(self.state_directory, Path(self.config.path).absolute())
        runner = BatchRunner(flow, app, self.clusters, launcher, lambda _: None)
        return runner.run_after_others(limit_s).sentence

    def stop_flow(self, operation: Operation) -> str:
        """Stop the flow; wait for its driver, unless it is silent."""
        by = f"{signature()}, {stopped_by(operation)}"
        write_intent(self.flow, Desired.STOP, self.clusters, by=by)
        begun = moved = time.monotonic()
        status = first = self._status()
        while status is not None and status.state != FlowState.STOPPED:
            now = time.monotonic()
            if status != first:
                first, moved = status, now
            if now - moved > _SILENT_S:
                return f"the driver on {status.host} is silent: it did not stop {self.flow.name}"
            if now - begun > _STOP_S:
                return f"the driver on {status.host} did not stop {self.flow.name} in {_STOP_S:g} s"
            time.sleep(_POLL_S)
            status = self._status()
        return f"{self.flow.name} is stopped"

    def fence_producers(self, operation: Operation) -> str:
        """Fence what may append, if a unit did not end cleanly."""
        seen = self.appenders()
        if not seen.unclean:
            self._fence = FenceResult({}, seen.anchors)
            return f"all units of {self.flow.name} ended cleanly: no producer may append"
        generation = self._outrank(seen, operation)
        log = StateLog(self.reader.target, anchors_topic(self.flow.source))
        work = fence_flow(self.flow.name, self.reader.target, log, generation)
        self._fence = self.reader.run(work)
        names = counted(len(self._fence.markers), "producer")
        parts = counted(len(self._fence.unclean), "partition")
        return f"fenced {names} of {self.flow.name} in {parts}"

    def appenders(self) -> Appenders:
        """Return who may append to the copies now."""
        topic = anchors_topic(self.flow.source)
        self.reader.run(self.reader.target.refresh([topic]))
        seen = Appenders(self.flow.name)
        seen.learn(self.reader.run(StateLog(self.reader.target, topic).read_on()))
        return seen

    def _outrank(self, seen: Appenders, operation: Operation) -> int:
        """Take the flow's lease, as stopped; return its generation. A driver that lives ends."""
        status = self._status() or FlowStatus(self.flow.name)
        generation = seen.above(status.generation)
        mine = FlowStatus(
            self.flow.name, FlowState.STOPPED, generation, "operator", signature(),
            started_ms=now_ms(), beat_ms=now_ms(), reason=f"stopped by a {operation.verb}",
        )  # fmt: skip
        self.operator.store.write(status_topic(self.flow.source), mine)
        return generation

    def prove(self, operation: Operation) -> str:
        """Write each partition's proven position; one that was written before stays."""
        if not self._fence.anchors:  # another operator did the step before
            self.fence_producers(operation)
        known = self.reader.look_at_target()
        work = prove_positions(operation.id, self._fence, self.reader.target, known.producers)
        found = self.reader.run(work)
        there = {(each.topic, each.partition) for each in self.proven(operation.id)}
        new = [each for each in found if (each.topic, each.partition) not in there]
        self.operator.store.write(status_topic(self.flow.source), *new)
        inexact = sum(not each.exact for each in found)
        doubt = (
            f"; of {inexact} only a lower bound is known, so groups may read some records again"
            if inexact
            else ""
        )
        return f"proved the positions of {counted(len(found), 'partition')}{doubt}"

    def open_target(self, operation: Operation) -> str:
        """Mark the target as the cluster that clients write to: the point of no return."""
        proven = self.proven(operation.id)
        renamed = next((each for each in proven if each.target_topic != each.topic), None)
        self.operator.require_turn()
        self.operator.amend(writable=self.flow.target)
        next_step = (
            f"{self.flow.target} is open for clients; next: point producers and consumers to it"
        )
        if renamed is None:
            return next_step
        return (
            f"{next_step}; consumers of {renamed.topic} read {renamed.target_topic} there as well"
        )

    # -- what is there -----------------------------------------------------------------------

    def _status(self) -> FlowStatus | None:
        return next(self._records(FlowStatus), None)

    def proven(self, operation: str) -> tuple[ProvenPosition, ...]:
        """Return the positions that an operation proved."""
        found = self._records(ProvenPosition)
        return tuple(each for each in found if each.operation == operation)

    def _records(self, kind: type[Kept]) -> Iterator[Kept]:
        """Yield the flow's records of a kind in its status topic."""
        yield from (each for each in self.operator.records() if isinstance(each, kind))
