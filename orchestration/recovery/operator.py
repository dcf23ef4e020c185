"""Carries out the steps of an operation for one operator, a person, at a time, and records each.

The record is on the target, so an operator may be killed at any step, and another one continues on
another machine. ``replication.recovery.procedure`` decides who may.
"""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orchestration.flows.intents import signature
from orchestration.recovery.left_groups import with_left_groups
from orchestration.recovery.step_retry import answered
from replication.clock import now_ms
from replication.errors import ClusterRejected
from replication.recovery.procedure import (
    BEAT_S,
    DONE,
    DRILL,
    FAILOVER,
    RUNNING,
    UNDONE,
    WATCH_S,
    ended,
    newest,
    newest_turns,
    remaining,
    require_idle,
    require_stopped,
    require_turn,
    require_verb,
)
from replication.recovery.switchover import denied_topics
from replication.state import Intent, Operation, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from replication.adapters.topics.state_store import StateStore
    from replication.adapters.topics.state_tail import StateTail
    from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
    from replication.recovery.procedure import StepPlan
    from replication.settings.flow_settings import Flow
    from replication.state import Stored

    Work = Callable[[Operation], str]

_POLL_S = 0.25


@dataclass(slots=True)
class Operator:
    """One process that carries out an operation on a flow. ``say`` gets a line per event.

    ``about``: the name under which operations are recorded, if not the flow's: that of its drills.
    """

    flow: Flow
    store: StateStore
    say: Callable[[str], None]
    about: str = ""
    operation: Operation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tail: StateTail | None = None
    _newest: dict[bytes, Stored] = field(default_factory=dict)  # by key
    _log: list[Operation] = field(default_factory=list)  # in the order of the log

    @property
    def name(self) -> str:
        """Whose operations these are."""
        return self.about or self.flow.name

    def last(self) -> Operation | None:
        """Return the flow's newest operation; None: it never had one."""
        return newest(self.operations(), self.name)

    def operations(self) -> list[Operation]:
        """Return all operations of the flow, each as its last operator wrote it."""
        found = (each for each in self.records() if isinstance(each, Operation))
        return list(newest_turns(found))

    def records(self) -> list[Stored]:
        """Return the flow's newest record of each key in its status topic."""
        self._catch_up()
        return list(self._newest.values())

    def _catch_up(self) -> None:
        """Read on, by one client: a new one takes seconds at times until it answers."""
        topic = status_topic(self.flow.source)
        if self._tail is None:
            if not self.store.exists(topic):
                return
            self._tail = self.store.tail(topic)
        for each in self._tail.catch_up():
            if getattr(each, "flow", None) == self.name:
                self._newest[each.key()] = each
                if isinstance(each, Operation):
                    self._log.append(each)

    def close(self) -> None:
        """Close the client that reads."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def intent(self) -> Intent:
        """Return the desired state of the flow."""
        mine = (each for each in self.records() if isinstance(each, Intent))
        return next(mine, Intent(self.name))

    def take(self, verb: str, options: Mapping[str, str], writable: str = "") -> Operation:
        """Begin an operation, or continue the one that another operator left.

        ``writable``: the cluster that clients write to when it begins, if that is decided.

        Raises FlowTaken when another operator works on one, ConfigError when one of another verb
        has to be finished first.
        """
        self.store.ensure_topics(self.flow.source)
        found = self.last()
        if found is not None and found.state == RUNNING:
            continues = require_verb(verb, found)
            self._watch(found)
            if not continues:
                denied = ", ".join(sorted(denied_topics(found.options)))
                stay = f"; writes on {self.flow.source} stay denied: {denied}" if denied else ""
                self.say(f"abandoning {found.verb} {found.id} of {found.by}{stay}")
                found = self.end_undone(found)
        if found is not None and found.state == RUNNING and self._is_continued(found):
            done = ", ".join(name for name, _, _ in found.done) or "no step"
            self.say(f"continuing {found.verb} {found.id} of {found.by}; done: {done}")
            mine = found
        else:
            mine = Operation(
                self.name, uuid.uuid4().hex[:8], verb, RUNNING,
                started_ms=now_ms(), options=dict(options), writable=writable,
            )  # fmt: skip
        mine = replace(
            mine,
            by=signature(),
            instance=uuid.uuid4().hex[:12],
            turn=found.turn + 1 if found else 1,
            beat_ms=now_ms(),
        )
        self.write(mine)
        self.require_turn()
        return mine

    def carry_out(
        self, steps: Sequence[StepPlan], works: Mapping[str, Work], until: str = ""
    ) -> Operation:
        """Carry out what is left of an operation; return its record. Raises ReplicationError.

        ``until``: the last step to carry out now; the operation stays unfinished.
        """
        operation = self.current()
        for number, step in enumerate(steps, 1):
            if step not in remaining(steps, operation):
                continue
            self.require_turn()
            require_stopped(operation, self.intent())
            operation = replace(self.current(), step=step.name, beat_ms=now_ms())
            self.write(operation)
            self.say(f"step {number} of {len(steps)}, {step.name}: {step.does}")
            with self.beating():
                did = self._done(works[step.name])
            operation = ended(self.current(), step.name, now_ms(), did)
            self.write(operation)
            self.say(f"  {did}")
            if step.back:
                self.say(f"  to go back: {step.back}")
            if step.name == until:
                return operation
        self.require_turn()
        operation = replace(self.current(), state=DONE)
        self.write(operation)
        return operation

    def _done(self, work: Work) -> str:
        """Carry a step out; a drill's only once: it measures from its beginning to its end.

        Raises FlowTaken if another operator went on while a cluster did not answer.
        """
        if self.current().verb == DRILL:
            return work(self.current())

        def attempt() -> str:
            self.require_turn()
            return work(self.current())

        return answered(attempt, self.say)

    def end_undone(self, operation: Operation) -> Operation:
        """Write that an operation was undone: no cluster is open because of it any more."""
        closed = replace(
            operation, state=UNDONE, step="", writable="", by=signature(),
            turn=operation.turn + 1, beat_ms=now_ms(),
        )  # fmt: skip
        self.write(closed)
        return closed

    def amend(self, **changes: object) -> Operation:
        """Change fields of the operation's record, and write it."""
        self.write(replace(self.current(), **changes))  # type: ignore[arg-type]
        return self.current()

    def note_left(self, left: Iterable[LeaveGroup | LeaveOffset]) -> None:
        """Keep what the step under way leaves of groups, for whoever ends the operation.

        What the record does not hold is said now: a list must not hold the operation up, also where
        the topic's ``max.message.bytes`` is lower than by default.
        """
        found, topic = tuple(left), status_topic(self.flow.source)
        with self._lock:
            noted = with_left_groups(self._held(), found)
            try:
                self.store.write(topic, noted)
            except ClusterRejected:
                noted = with_left_groups(self._held(), found, most_bytes=0)
                self.store.write(topic, noted)
            self.operation = noted
        for each in found[len(noted.left[noted.step]) :]:
            self.say(f"  left: group {each.group}: {each.reason}")

    def _watch(self, found: Operation) -> None:
        """Wait whether the operation's record moves. Raises FlowTaken if it does."""
        self.say(f"{found.verb} {found.id} of {found.by} is not finished: watching it")
        until = time.monotonic() + WATCH_S
        while time.monotonic() < until:
            require_idle(found, self.last())
            time.sleep(_POLL_S)

    def _is_continued(self, found: Operation) -> bool:
        """Return whether an operation goes on: not a failover whose flow somebody has resumed.

        A switchover goes on to its next step, which refuses that: so it is taken back. A drill
        measures from its beginning to its end, so it begins anew.
        """
        if found.verb == DRILL:
            return False
        if found.verb != FAILOVER:
            return True
        try:
            require_stopped(found, self.intent())
        except ClusterRejected as resumed:
            self.say(str(resumed))
            return False
        return True

    def require_turn(self) -> None:
        """Raise FlowTaken if another operator continues our operation."""
        self._catch_up()
        require_turn(self.current(), self._log)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Write the record again and again while the block runs: so others see that we work."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                with self._lock:  # else a record could follow one that is newer
                    beating = replace(self._held(), beat_ms=now_ms())
                    self.store.post(status_topic(self.flow.source), beating)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def current(self) -> Operation:
        """Return the operation that is carried out, as far as it got."""
        with self._lock:
            return self._held()

    def _held(self) -> Operation:
        if self.operation is None:
            raise RuntimeError("no operation was taken")
        return self.operation

    def write(self, operation: Operation) -> None:
        """Write an operation's record."""
        with self._lock:
            self.operation = operation
            self.store.write(status_topic(self.flow.source), operation)
