"""The health of a flow: its driver's state, corrected by what anchors show, and one line on it.

Pure. Green means that everything was seen to be well, not that nothing was seen to be wrong: a
cluster that does not answer, a pattern that matches no topic and a dead driver are not green.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.model import ABSENT, Desired, FlowState, PartitionState
from replication.settings.state_policies import what_to_do
from replication.supervision.batch_run import batch_age
from replication.supervision.partition_states import by_state, needs_somebody

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from replication.state import AbsentTopic, Anchor, BatchRun, FlowStatus, Loss

_EPOCH_MS = 60_000  # two of the usual length
BEAT_STALE_MS = 15_000  # a driver beats every second; this long without is no hiccup
START_MS = 60_000  # a start that takes longer is slow
_NO_DRIVER_YET = "no driver has reported yet (`isthmus run FILE` starts one)"


@dataclass(frozen=True, slots=True)
class Health:
    """``state`` is a FlowState, or DEAD, UNKNOWN or IDLE, which no driver can say of itself.

    IDLE: a batch flow between two runs.
    """

    state: str
    healthy: bool
    reason: str


@dataclass(frozen=True, slots=True)
class FlowObservation:
    """What was found out about a flow at one moment. ``None`` for a silence: it answered."""

    flow: str
    host: str  # of the observer
    now_ms: int
    desired: Desired = Desired.RUN
    desired_ms: int = 0  # when an operator last set it
    desired_by: str = ""  # who did
    status: FlowStatus | None = None
    beat_age_ms: int | None = None  # of the status, from look to look; None: as the clocks say
    anchors: tuple[Anchor, ...] = ()  # of absent topics with the states of these
    absent: tuple[AbsentTopic, ...] = ()
    losses: tuple[Loss, ...] = ()  # of all times, the newest last
    driver: bool = False  # the driver's lock on the observer's host is held
    stopped_ms: int = 0  # when it was stopped on purpose on the observer's host; 0: it was not
    source_silence: str | None = None
    target_silence: str | None = None
    wrong_cluster: str = ""  # which cluster an address leads to instead of the right one
    recovery: str = ""  # how far a failover or switchover got, if it is open or not finished
    open_since: str = ""  # since which of them the target is open for clients; empty: it is not
    is_batch: bool = False  # the flow is copied in runs that end
    run: BatchRun | None = None  # how the last of them ended
    batch_max_age: timedelta = timedelta(0)  # of the last good one; 0: any


def flow_health(seen: FlowObservation) -> Health:
    """Return the first of these that is true of the flow, from the worst to the best."""
    if seen.wrong_cluster and seen.desired is Desired.RUN:
        return Health(FlowState.WRONG_CLUSTER, healthy=False, reason=seen.wrong_cluster)
    if seen.target_silence is not None:
        silence = "; ".join(filter(None, (seen.target_silence, seen.source_silence)))
        return Health("UNKNOWN", healthy=False, reason=silence)
    if seen.desired is Desired.STOP:
        return _as_desired(seen, FlowState.STOPPED)
    return (_batch if seen.is_batch else _stream)(seen, seen.status)


def _stream(seen: FlowObservation, status: FlowStatus | None) -> Health:
    if status is None or not has_driver(seen):
        return _without_driver(seen, status)
    if seen.desired is Desired.PAUSE:
        return _as_desired(seen, FlowState.PAUSED)
    return _running(seen, status)


def _batch(seen: FlowObservation, status: FlowStatus | None) -> Health:
    """Return the health of a batch flow: it may have no driver, and its driver may start or end."""
    if status is not None and has_driver(seen):
        now = _running(seen, status)
        passes = now.state in {FlowState.STARTING, FlowState.STOPPING}
        return replace(now, healthy=True) if passes else now
    if seen.desired is Desired.PAUSE:
        return _as_desired(seen, FlowState.PAUSED)
    if seen.driver:
        return Health(FlowState.STARTING, healthy=True, reason="a run begins")
    return _between_runs(seen, status)


def _between_runs(seen: FlowObservation, status: FlowStatus | None) -> Health:
    run = seen.run
    if status is not None and status.state != FlowState.STOPPED:
        ago = _ago(status.beat_ms, seen.now_ms)
        reason = f"its last run was cut off {ago}; the next run continues where that ended"
        return Health(FlowState.FAILED, healthy=False, reason=reason)
    young, too_old = True, ""
    if seen.batch_max_age:
        young, too_old = batch_age(run, seen.batch_max_age, seen.now_ms)
    if run is None:
        reason = "a batch flow that has not run yet" if young else too_old
        return Health("IDLE", healthy=young, reason=reason)
    ago = _ago(run.ended_ms, seen.now_ms)
    if run.problem:
        good = (
            f"; the last one that did ended {_ago(run.good_ms, seen.now_ms)}" if run.good_ms else ""
        )
        reason = f"its last run ended {ago} and did not copy all: {run.problem}{good}"
        return Health(FlowState.FAILED, healthy=False, reason=reason)
    took_s = max(0, run.ended_ms - run.started_ms) // 1000
    reason = f"a batch flow; its last run ended {ago}: {run.records:,} records in {took_s} s"
    return Health("IDLE", healthy=young, reason=reason if young else too_old)


def _without_driver(seen: FlowObservation, status: FlowStatus | None) -> Health:
    """Return the health of a flow that is to run and has no driver, or one that starts."""
    starts = status is not None and _starts(status, seen)
    if starts or (seen.driver and (status is None or _was_stopped(seen))):
        reason = (
            status.reason if status is not None and starts else ""
        ) or "the driver is starting"
        return Health(FlowState.STARTING, healthy=False, reason=reason)
    if _was_stopped(seen):
        return Health(FlowState.STOPPED, healthy=False, reason=_stopped(seen))
    if status is None:
        return Health(FlowState.STARTING, healthy=False, reason=_NO_DRIVER_YET)
    return Health("DEAD", healthy=False, reason=_dead(status, seen))


def has_driver(seen: FlowObservation) -> bool:
    """Say whether a driver was seen that runs the flow, or could."""
    status = seen.status
    return status is not None and is_alive(status, seen) and not _was_stopped(seen)


def is_alive(status: FlowStatus, seen: FlowObservation) -> bool:
    """Say whether the driver that wrote ``status`` lives.

    On this host its lock knows; a lock that is held by a hung driver does not make it alive.
    """
    fresh = _beat_age_ms(status, seen) < BEAT_STALE_MS
    return fresh and (seen.driver or status.host != seen.host)


def _was_stopped(seen: FlowObservation) -> bool:
    """Say whether the last driver was stopped on purpose, although the flow is to run.

    One that ends cleanly says so in its last status; one that was killed meanwhile cannot.
    """
    status = seen.status
    if status is None or status.state == FlowState.STOPPED:
        return status is not None or seen.stopped_ms > 0
    return status.host == seen.host and seen.stopped_ms >= status.beat_ms


def _starts(status: FlowStatus, seen: FlowObservation) -> bool:
    """Say whether its driver starts: it beats once, and not again until Spark is up.

    One that starts again for an edited file ends before, and says so in its last status.
    """
    here = seen.driver or status.starts_again
    starting = here and status.state == FlowState.STARTING
    return starting and _beat_age_ms(status, seen) < START_MS


def _beat_age_ms(status: FlowStatus, seen: FlowObservation) -> int:
    return seen.now_ms - status.beat_ms if seen.beat_age_ms is None else seen.beat_age_ms


def _stopped(seen: FlowObservation) -> str:
    status = seen.status
    since_ms = max(seen.stopped_ms, status.beat_ms if status else 0)
    where = status.host if status else seen.host
    return (
        f"stopped {_ago(since_ms, seen.now_ms)} on {where} (`isthmus down`, Ctrl-C or a signal); "
        "start it with `isthmus run FILE`"
    )


def _ago(then_ms: int, now_ms: int) -> str:
    return f"{max(0, now_ms - then_ms) // 1000} s ago"


def _dead(status: FlowStatus, seen: FlowObservation) -> str:
    where = f"process {status.pid} on {status.host}, {status.state}"
    last = f"last status {max(0, _beat_age_ms(status, seen)) // 1000} s ago ({where})"
    who = "the driver's process runs, but hangs" if seen.driver else "no driver"
    why = f"; last reason: {status.reason}" if status.reason else ""
    return f"{who}: {last}{why}; see `isthmus logs FILE`; `isthmus run FILE` restarts it"


def _as_desired(seen: FlowObservation, state: FlowState) -> Health:
    status = seen.status
    if status is None or status.state == state or not is_alive(status, seen):
        flow = seen.flow.replace("->", ":")
        then = seen.recovery or f"continue with `isthmus resume FILE --flow {flow}`"
        by = f"{state.lower()} by {seen.desired_by}; {then}"
        reason = by if seen.desired_by else "matches desired state"
        return Health(state, healthy=True, reason=reason)
    return Health(status.state, healthy=False, reason=f"changing to {state}")


def _running(seen: FlowObservation, status: FlowStatus) -> Health:
    if seen.source_silence is not None:
        return Health(status.state, healthy=False, reason=seen.source_silence)
    worst = next((each for each in seen.anchors if each.state not in _FINE), None)
    status = as_of_anchors(status, seen.anchors, seen.now_ms)
    if status.state == FlowState.RUNNING and not status.partitions:
        reason = f"copies nothing: {status.reason}"
        return Health(FlowState.DEGRADED, healthy=False, reason=reason)
    if status.state == FlowState.RUNNING and (worst is None or not status.not_running):
        parts = (f"{status.partitions} partitions", status.reason)
        return Health(status.state, healthy=True, reason="; ".join(filter(None, parts)))
    reason = "; ".join(filter(None, (status.reason, _halted(seen, status))))
    reason = reason or (_partition(worst) if worst else f"the driver is {status.state.lower()}")
    return Health(status.state, healthy=False, reason=reason)


def _waits_for(status: FlowStatus, anchors: Iterable[Anchor], now_ms: int) -> str:
    """Return what a driver waits for that has not begun to copy; empty: nothing.

    However long that takes: what ends it is a status of the driver, or that it is restarted.
    """
    if status.state != FlowState.RUNNING:
        return ""
    late = now_ms - status.started_ms >= START_MS
    # No number that grows: each change is shown to whoever watches.
    long = f", more than {START_MS // 1000} s after the driver's start: see `isthmus logs FILE`"
    after = long if late else ""
    if not status.partitions:
        return "" if status.reason else f"its topics are planned{after}"
    copied = [each for each in anchors if each.state not in ABSENT]
    begin = [each for each in copied if _has_not_begun(each)]
    bad = [each for each in copied if each.state not in _FINE]
    some = begin and not late and len(begin) == len(bad)
    if len(begin) == len(copied) or some:
        return f"its units begin {status.partitions} partitions{after}"
    return ""


def _has_not_begun(anchor: Anchor) -> bool:
    """Say whether a partition was only claimed yet: nothing keeps it waiting."""
    return anchor.state == PartitionState.WAITING and not anchor.reason


def as_of_anchors(status: FlowStatus, anchors: Collection[Anchor], now_ms: int) -> FlowStatus:
    """Return a status as the anchors change it: they are a second old, its figure is an epoch's.

    A flow whose units have not begun to copy is STARTING, though its driver says RUNNING.

    An epoch's figure without a reason counts partitions that were not RUNNING when it ended. An
    anchor in another state counts while it is newer than that figure may be: of topics that are
    not copied any more, anchors stay as they are.
    """
    if waits_for := _waits_for(status, anchors, now_ms):
        return replace(status, state=FlowState.STARTING, reason=waits_for)
    bad = [each for each in anchors if each.state not in _FINE]
    if status.state == FlowState.DEGRADED and status.not_running and not status.reason and not bad:
        return replace(status, state=FlowState.RUNNING, not_running=0)
    since = status.beat_ms - _EPOCH_MS
    fresh = [each for each in bad if _is_of(each, status) and each.at_ms > since]
    if status.state == FlowState.RUNNING and fresh:
        return replace(status, state=FlowState.DEGRADED, not_running=len(fresh), reason="")
    return status


def _is_of(anchor: Anchor, status: FlowStatus) -> bool:
    """Say whether a driver's unit wrote an anchor; unclaimed ones keep an old generation."""
    return anchor.generation == status.generation or anchor.at_ms > status.started_ms


# What is wrong with a topic that is gone, the driver's status says: its anchors stay as they were.
_FINE = frozenset({PartitionState.RUNNING, PartitionState.PAUSED}) | ABSENT


def _halted(seen: FlowObservation, status: FlowStatus) -> str:
    """Return the first partition that waits for somebody, and in which states others are."""
    if status.state != FlowState.DEGRADED:
        return ""
    bad = [each for each in seen.anchors if each.state not in _FINE]
    waiting = [each for each in bad if needs_somebody(each.state)]
    if not (first := next(iter(waiting or bad), None)):
        return ""
    others = sorted({(each.topic, str(each.state)) for each in bad} - {(first.topic, first.state)})
    return "; ".join(filter(None, (_partition(first), by_state(others))))


def _partition(anchor: Anchor) -> str:
    where = f"{anchor.topic}-{anchor.partition} is {anchor.state}"
    parts = (f"{where}: {anchor.reason}" if anchor.reason else where, what_to_do(anchor.state))
    return "; ".join(each for each in parts if each)
