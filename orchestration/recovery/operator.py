"""Carries out the steps of an operation, one operator at a time, and records each.

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
from orchestration.flows.observe import now_ms
from replication.errors import ClusterRejected
from replication.recovery.procedure import (
    BEAT_S,
    DONE,
    RUNNING,
    UNDONE,
    WATCH_S,
    ended,
    newest,
    remaining,
    require_idle,
    require_stopped,
    require_turn,
)
from replication.state import Intent, Operation, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from replication.adapters.topics.state_store import StateStore
    from replication.recovery.procedure import StepPlan
    from replication.settings.sections import Flow

    Work = Callable[[Operation], str]

_POLL_S = 0.25


@dataclass(slots=True)
class Operator:
    """One process that carries out an operation on a flow. ``say`` gets a line per event."""

    flow: Flow
    store: StateStore
    say: Callable[[str], None]
    operation: Operation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def last(self) -> Operation | None:
        """Return the flow's newest operation; None: it never had one."""
        records = self.store.read(status_topic(self.flow.source)).values()
        return newest((e for e in records if isinstance(e, Operation)), self.flow.name)

    def intent(self) -> Intent:
        """Return the desired state of the flow."""
        records = self.store.read(status_topic(self.flow.source)).values()
        mine = (e for e in records if isinstance(e, Intent) and e.flow == self.flow.name)
        return next(mine, Intent(self.flow.name))

    def take(self, verb: str, options: Mapping[str, str]) -> Operation:
        """Begin an operation, or continue the one that another operator left.

        Raises FlowTaken when another operator works on one.
        """
        self.store.ensure_topics(self.flow.source)
        found = self.last()
        if found is not None and found.state == RUNNING:
            self._watch(found)
        if found is not None and found.state == RUNNING and self._is_stopped(found):
            done = ", ".join(name for name, _, _ in found.done) or "no step"
            self.say(f"continuing {found.verb} {found.id} of {found.by}; done: {done}")
            mine = found
        else:
            mine = Operation(
                self.flow.name, uuid.uuid4().hex[:8], verb, RUNNING,
                started_ms=now_ms(), options=dict(options),
            )  # fmt: skip
        mine = replace(
            mine,
            by=signature(),
            instance=uuid.uuid4().hex[:12],
            turn=found.turn + 1 if found else 1,
            beat_ms=now_ms(),
        )
        self._write(mine)
        self._require_turn()
        return mine

    def carry_out(self, steps: Sequence[StepPlan], works: Mapping[str, Work]) -> Operation:
        """Carry out what is left of an operation; return its record. Raises ReplicationError."""
        operation = self._current()
        for number, step in enumerate(steps, 1):
            if step not in remaining(steps, operation):
                continue
            self._require_turn()
            require_stopped(operation, self.intent())
            operation = replace(self._current(), step=step.name, beat_ms=now_ms())
            self._write(operation)
            self.say(f"step {number} of {len(steps)}, {step.name}: {step.does}")
            with self._beating():
                did = works[step.name](operation)
            operation = ended(self._current(), step.name, now_ms(), did)
            self._write(operation)
            self.say(f"  {did}")
            self.say(f"  to go back: {step.back}")
        operation = replace(self._current(), state=DONE)
        self._write(operation)
        return operation

    def close(self, operation: Operation) -> None:
        """Write that an operation was undone: no cluster is open because of it any more."""
        self._write(
            replace(
                operation, state=UNDONE, writable="", by=signature(), turn=operation.turn + 1,
                beat_ms=now_ms(),
            )
        )  # fmt: skip

    def amend(self, **changes: object) -> None:
        """Change fields of the operation's record; written with the end of the step."""
        with self._lock:
            self.operation = replace(self._held(), **changes)  # type: ignore[arg-type]

    def _watch(self, found: Operation) -> None:
        """Wait whether the operation's record moves. Raises FlowTaken if it does."""
        self.say(f"{found.verb} {found.id} of {found.by} is not finished: watching it")
        until = time.monotonic() + WATCH_S
        while time.monotonic() < until:
            require_idle(found, self.last())
            time.sleep(_POLL_S)

    def _is_stopped(self, found: Operation) -> bool:
        """Return whether the flow is still stopped by an operation, if it had stopped it."""
        try:
            require_stopped(found, self.intent())
        except ClusterRejected as resumed:
            self.say(str(resumed))
            return False
        return True

    def _require_turn(self) -> None:
        tail = self.store.tail(status_topic(self.flow.source))
        try:
            records = [each for each in tail.catch_up() if isinstance(each, Operation)]
        finally:
            tail.close()
        require_turn(self._current(), [e for e in records if e.flow == self.flow.name])

    @contextmanager
    def _beating(self) -> Iterator[None]:
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                topic = status_topic(self.flow.source)
                self.store.post(topic, replace(self._current(), beat_ms=now_ms()))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _current(self) -> Operation:
        with self._lock:
            return self._held()

    def _held(self) -> Operation:
        if self.operation is None:
            raise RuntimeError("no operation was taken")
        return self.operation

    def _write(self, operation: Operation) -> None:
        with self._lock:
            self.operation = operation
            self.store.write(status_topic(self.flow.source), operation)
