"""Follows anchors and flow status on the target, in a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from chaos.application import FLOW, SOURCE
from chaos.schedule import Side
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_tail import StateTail
from replication.errors import ReplicationError
from replication.model import FlowState, PartitionState, TopicPartition
from replication.state import Anchor, FlowStatus, anchors_topic, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.stage import ChaosStage

_LOOK_S = 0.3
_BACK_S = 90.0
_FRESH_MS = 3_000


class Monitor:
    """Follows anchors and status. Reads the target directly: its faults are not the network's."""

    def __init__(self, stage: ChaosStage) -> None:
        self.anchors: dict[TopicPartition, Anchor] = {}
        self.status = FlowStatus(FLOW)
        self._stage = stage
        self._ended = threading.Event()
        self._is_stale = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def records(self) -> int:
        """How many records were copied, as far as the anchors say."""
        return sum(each.records for each in list(self.anchors.values()))

    def await_running(self, limit_s: float) -> bool:
        """Wait until a living driver says that the flow is running."""
        return self._await(self._runs, limit_s)

    def await_state(self, state: FlowState, limit_s: float) -> bool:
        """Wait until the flow's status says that it is in a state."""
        return self._await(lambda: self.status.state == state, limit_s)

    def await_reason(self, word: str, limit_s: float) -> bool:
        """Wait until the flow's reason names something."""
        return self._await(lambda: word in self.status.reason, limit_s)

    def await_driver(self, pid: int, limit_s: float) -> bool:
        """Wait until a driver says that the flow is running."""
        return self._await(lambda: self.is_driven_by(pid) and self.is_running(), limit_s)

    def is_driven_by(self, pid: int) -> bool:
        """Say whether the newest status is that of a driver."""
        return self.status.pid == pid

    def is_running(self) -> bool:
        """Say whether a living driver says that the flow is running, be it degraded or not."""
        fresh = time.time() * 1000 - self.status.beat_ms < _FRESH_MS
        return fresh and self.status.state in {FlowState.RUNNING, FlowState.DEGRADED}

    def read_again(self) -> None:
        """Read all of the state topics, one of which was deleted."""
        self._is_stale.set()

    def await_copying(self, partition: TopicPartition | None = None) -> str:
        """Wait until more is copied than now, of one partition or at all; say how long it took."""
        began, before = time.monotonic(), self._positions()

        def goes_on() -> bool:
            if partition:
                return partition in self.anchors
            return any(at > before.get(each, 0) for each, at in self._positions().items())

        self._await(goes_on, _BACK_S)
        if goes_on():
            return f"copying {time.monotonic() - began:.1f} s later"
        if self._stage.over.is_set():
            return "the time was over"
        return f"no copying for {_BACK_S:.0f} s: {self.status_text()}"

    def behind(self) -> list[str]:
        """Return a line for each partition whose source holds more than was copied."""
        awaited = [
            TopicPartition(topic, number)
            for topic, count in self._stage.partitions.items()
            for number in range(count)
        ]
        ends = self._stage.admin(Side.SOURCE).end_offsets(awaited)
        return [
            f"{each.topic}-{each.partition} at {self._reached(each)} of {ends.get(each, 'unknown')}"
            for each in awaited
            if each not in ends or self._reached(each) < ends[each]
        ]

    def status_text(self) -> str:
        """Return the flow's state, and the reason when there is one."""
        return f"{self.status.state} {self.status.reason}".strip()

    def stuck(self) -> list[str]:
        """Return a line for each partition that is not running."""
        return [
            f"{at.topic}-{at.partition} {each.state}: {each.reason}"
            for at, each in sorted(self.anchors.items())
            if each.state != PartitionState.RUNNING
        ]

    def _runs(self) -> bool:
        fresh = time.time() * 1000 - self.status.beat_ms < _FRESH_MS
        return fresh and self.status.state == FlowState.RUNNING

    def _positions(self) -> dict[TopicPartition, int]:
        return {at: each.source or 0 for at, each in list(self.anchors.items())}

    def _reached(self, partition: TopicPartition) -> int:
        anchor = self.anchors.get(partition)
        return (anchor.source or 0) if anchor else 0

    def _await(self, holds: Callable[[], bool], limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while not holds() and time.monotonic() < deadline and not self._stage.over.wait(0.1):
            pass
        return bool(holds())

    def _follow(self) -> None:
        tails = self._tails()
        while not self._ended.wait(_LOOK_S):
            if self._is_stale.is_set():
                self._is_stale.clear()
                for tail in tails:
                    tail.close()
                tails = self._tails()
            for tail in tails:
                with contextlib.suppress(ReplicationError):  # not there yet, or out at the moment
                    for record in tail.catch_up():
                        self._take(record)
        for tail in tails:
            tail.close()

    def _tails(self) -> list[StateTail]:
        client = self._stage.client(Side.TARGET)
        topics = anchors_topic(SOURCE), status_topic(SOURCE)
        return [StateTail(client, KafkaAdmin(client), each) for each in topics]

    def _take(self, record: object) -> None:
        match record:
            case Anchor():
                self.anchors[TopicPartition(record.topic, record.partition)] = record
            case FlowStatus(flow=flow) if flow == FLOW:
                self.status = record
