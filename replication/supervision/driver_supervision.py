"""Decide when a Spark application is started, restarted or stopped, and when a silent one is dead.

Pure: desired states, observations and memory in; decisions and new memory out. The
memory may be lost at any time: it only spares launches, it never decides who may copy. That is
decided by lease and fence, so a superfluous launch is rejected there and does no harm.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from replication.model import Desired

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.settings.config import Config
    from replication.state import FlowStatus

FOREIGN_STALE_MS = 20_000  # another host's beat that did not change for so long is a dead driver
SILENT_MS = 90_000  # a live driver that does not beat for so long hangs, if its target answers
FIRST_BACKOFF_MS = 5_000
LONGEST_BACKOFF_MS = 300_000


@dataclass(frozen=True, slots=True)
class Application:
    """One Spark application and the flows that it hosts."""

    name: str
    target: str
    flows: tuple[str, ...]
    is_batch: bool = False  # it ends by itself, and nobody launches it but its schedule or a person


def applications(config: Config) -> tuple[Application, ...]:
    """Return the applications of a file: one a target, or one a flow; then one a batch flow.

    Both are ordered by name.
    """
    streams = [each for each in config.flows if not each.is_batch]
    if config.spark.application == "per-flow":
        found = [Application(each.name, each.target, (each.name,)) for each in streams]
    else:
        found = [
            Application(target, target, tuple(e.name for e in streams if e.target == target))
            for target in {each.target for each in streams}
        ]
    found += [
        Application(each.name, each.target, (each.name,), is_batch=True)
        for each in config.flows
        if each.is_batch
    ]
    return tuple(sorted(found, key=lambda each: (each.is_batch, each.name)))


def metrics_port(config: Config, name: str) -> int | None:
    """Return the port of an application's metrics: one each, in the order of ``applications``.

    0: any free one. None: there are to be none.
    """
    first = config.metrics.port
    names = [each.name for each in applications(config)]
    return first + names.index(name) if first and name in names else first


@dataclass(frozen=True, slots=True)
class Observed:
    """One observation of an application."""

    host: str  # ours
    watcher: bool = False  # the local process that restarts the driver holds its lock
    driver: bool = False  # the local driver holds its lock
    silence: str | None = None  # why the target did not answer; then the next two are empty
    statuses: tuple[FlowStatus, ...] = ()
    intents: Mapping[str, Desired] = field(default_factory=dict)
    launching: bool = False  # a run that starts or stops it is not finished yet


@dataclass(frozen=True, slots=True)
class AppMemory:
    """What is remembered of one application between two looks."""

    launches: int = 0  # since the memory began: makes run keys unique
    failures: int = 0  # launches since the last beat
    launched_ms: int = 0
    beat_ms: int = 0  # the newest beat, by its writer's clock
    changed_ms: int = 0  # when it was seen to change, by ours
    seen_ms: int = 0  # when a beat was first seen, by ours

    def until(self, now_ms: int) -> Self:
        """Return the memory without moments of a future: the clock was ahead, and was set back."""
        launched_ms, changed_ms = min(self.launched_ms, now_ms), min(self.changed_ms, now_ms)
        seen_ms = min(self.seen_ms, now_ms)
        return replace(self, launched_ms=launched_ms, changed_ms=changed_ms, seen_ms=seen_ms)


@dataclass(frozen=True, slots=True)
class SupervisionMemory:
    """The memory of all applications; ``born_ms`` distinguishes it from one that was lost."""

    born_ms: int = 0
    apps: Mapping[str, AppMemory] = field(default_factory=dict)

    @classmethod
    def parse(cls, stored: Any, now_ms: int) -> Self:
        """Read what ``dump`` returned; start empty when there is nothing, or nothing readable."""
        try:
            apps = {name: AppMemory(**each) for name, each in stored["apps"].items()}
            return cls(int(stored["born_ms"]), apps)
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls(now_ms)

    def dump(self) -> dict[str, Any]:
        """Return the memory as plain values, a few hundred bytes as JSON."""
        apps = {name: asdict(each) for name, each in sorted(self.apps.items())}
        return {"born_ms": self.born_ms, "apps": apps}


@dataclass(frozen=True, slots=True)
class Leave:
    """The application matches the desired state, or is about to."""

    app: Application
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Something is wrong that a launch now would not mend."""

    app: Application
    reason: str


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the application; with ``restart``, end what is left of it first."""

    app: Application
    reason: str
    run_key: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the application: none of its flows is to run."""

    app: Application
    reason: str
    run_key: str


Decision = Leave | Wait | Launch | Stop


def decide(
    apps: tuple[Application, ...],
    observed: Mapping[str, Observed],
    memory: SupervisionMemory,
    now_ms: int,
) -> tuple[tuple[Decision, ...], SupervisionMemory]:
    """Return a decision for every application, and the memory for the next check."""
    decisions, remembered = [], {}
    for app in apps:
        seen = observed[app.name]
        known = memory.apps.get(app.name, AppMemory()).until(now_ms)
        known = _remember_beat(known, seen, now_ms)
        decision = _decide(app, seen, known, now_ms)
        if isinstance(decision, Launch | Stop):
            known = replace(known, launches=known.launches + 1, launched_ms=now_ms)
            key = f"{app.name}:{memory.born_ms}:{known.launches}"
            decision = replace(decision, run_key=key)
        if isinstance(decision, Launch):
            known = replace(known, failures=known.failures + 1)
        decisions.append(decision)
        remembered[app.name] = known
    return tuple(decisions), SupervisionMemory(memory.born_ms, remembered)


def _remember_beat(known: AppMemory, seen: Observed, now_ms: int) -> AppMemory:
    """Note a changed beat. A first sight is no change: the beat may be a year old."""
    beat_ms = max((each.beat_ms for each in seen.statuses), default=0)
    if beat_ms == known.beat_ms or not beat_ms:
        return known
    if not known.beat_ms:
        return replace(known, beat_ms=beat_ms, seen_ms=now_ms)
    return replace(known, beat_ms=beat_ms, changed_ms=now_ms, failures=0)


def _decide(app: Application, seen: Observed, known: AppMemory, now_ms: int) -> Decision:
    if app.is_batch:
        return Leave(app, "a batch flow: it is not kept running")
    if seen.launching:
        return Leave(app, "a driver is being launched")
    if not _should_run(app, seen):
        if seen.watcher or seen.driver:
            return Stop(app, "all its flows have desired state STOPPED", "")
        return Leave(app, "stopped, matches desired state")
    if seen.watcher or seen.driver:
        return _alive(app, seen, known, now_ms)
    return _gone(app, seen, known, now_ms)


def _should_run(app: Application, seen: Observed) -> bool:
    """Say whether a flow is to run or to pause. A target that is silent keeps what is there."""
    return any(seen.intents.get(flow, Desired.RUN) is not Desired.STOP for flow in app.flows)


def _alive(app: Application, seen: Observed, known: AppMemory, now_ms: int) -> Decision:
    if seen.silence is not None:
        return Wait(app, f"{seen.silence}; the driver is not changed")
    quiet_ms = now_ms - max(known.changed_ms, known.launched_ms)
    # Without a remembered change or launch it is unknown how long it has been quiet.
    if seen.driver and (known.changed_ms or known.launched_ms) and quiet_ms > SILENT_MS:
        reason = f"the driver is alive but wrote no status for {quiet_ms // 1000} s"
        return _launch(app, reason, known, now_ms, restart=True)
    if not seen.driver:
        return Leave(app, "the watcher is restarting the driver")
    # A second watcher would only be rejected by the lock that this driver holds.
    return Leave(app, "up" if seen.watcher else "running without a watcher until the driver exits")


def _gone(app: Application, seen: Observed, known: AppMemory, now_ms: int) -> Decision:
    if seen.silence is not None:
        return Wait(app, f"{seen.silence}; another host may be copying, so no driver is launched")
    elsewhere = _elsewhere(seen, known, now_ms)
    if elsewhere is not None:
        return Leave(app, elsewhere)
    reason = "the driver has exited" if seen.statuses else "no driver has reported yet"
    return _launch(app, reason, known, now_ms)


def _elsewhere(seen: Observed, known: AppMemory, now_ms: int) -> str | None:
    """Say where a driver on another host beats, judged by changes and not by that host's clock."""
    newest = max(seen.statuses, key=lambda each: each.beat_ms, default=None)
    if newest is None or newest.host in {"", seen.host} or newest.state == "STOPPED":
        return None
    looked_ms = now_ms - known.seen_ms  # that host's clock may be ahead of ours by hours
    recent = max(now_ms - newest.beat_ms, looked_ms) < FOREIGN_STALE_MS
    if not known.changed_ms and recent:
        return f"checking whether {newest.host} still copies"
    if now_ms - known.changed_ms < FOREIGN_STALE_MS:
        return f"up on {newest.host}, process {newest.pid}"
    return None


def _launch(
    app: Application, reason: str, known: AppMemory, now_ms: int, *, restart: bool = False
) -> Launch | Wait:
    """Launch, unless launches that led to no beat say to wait longer."""
    wait_ms = known.launched_ms + backoff_ms(known.failures) - now_ms
    if wait_ms > 0:
        tries = f"{known.failures} launches failed (see `isthmus logs FILE`)"
        return Wait(app, f"{reason}; {tries}, next try in {-(-wait_ms // 1000)} s")
    return Launch(app, reason, run_key="", restart=restart)


def backoff_ms(failures: int) -> int:
    """Return how long to wait after that many launches without a beat."""
    if failures == 0:
        return 0
    return min(FIRST_BACKOFF_MS << min(failures - 1, 10), LONGEST_BACKOFF_MS)
