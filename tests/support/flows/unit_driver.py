"""Drives one unit as a Spark driver does: follows the flow's desired state, writes its status."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from bench.threads import working
from replication.adapters.wire import connect
from replication.clock import now_ms
from replication.copier.host import Host
from replication.errors import ClusterUnavailable
from replication.model import Desired, FlowState
from replication.state import FlowStatus, Intent, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.flows.copier_flows import Flow

_BEAT_S = 0.3


class UnitDriver:
    """Copies in a thread while the flow is to run; a new generation after each stop."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._tail = flow.store.tail(status_topic(flow.alias))
        self._desired = Desired.RUN
        self._generation = 0
        self._started = now_ms()
        self._unit: threading.Thread | None = None

    def follow(self, over: threading.Event) -> None:
        """Do so until ``over``; a target that is away is waited for, as a driver does."""
        while not over.wait(_BEAT_S):
            with suppress(ClusterUnavailable):
                self._turn()
        self._end()
        self._tail.close()

    def _turn(self) -> None:
        for each in self._tail.catch_up():
            if isinstance(each, Intent):
                self._desired = Desired(each.desired)
            elif isinstance(each, FlowStatus):
                self._generation = max(self._generation, each.generation)
        if self._desired is Desired.RUN and self._unit is None:
            self._start()
        elif self._desired is Desired.STOP and self._unit is not None:
            self._end()
        self._write(FlowState.STOPPED if self._unit is None else FlowState.RUNNING)

    def _start(self) -> None:
        self._generation += 1
        spec = self.flow.spec(self._generation)
        self._unit = threading.Thread(target=_copy, args=(spec,))
        self._unit.start()

    def _end(self) -> None:
        if self._unit is not None:
            self.flow.end(self.flow.spec(self._generation))
            self._unit.join()
            self._unit = None

    def _write(self, state: FlowState) -> None:
        status = FlowStatus(
            self.flow.name,
            state,
            self._generation,
            "unit driver",
            socket.gethostname(),
            os.getpid(),
            self._started,
            now_ms(),
        )
        self.flow.store.write(status_topic(self.flow.alias), status)


def _copy(spec: object) -> None:
    host = Host()
    try:
        host.copy(spec, connect)
    finally:
        host.close()


@contextmanager
def driven(flow: Flow) -> Iterator[None]:
    """Let a flow run as it is desired while the block runs."""
    over, driver = threading.Event(), UnitDriver(flow)
    with working(over, partial(driver.follow, over)):
        yield
