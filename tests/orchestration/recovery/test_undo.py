"""Undoing a failover: only while no client has written, and whatever killed its operator."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster
from support.fakes.state_logs import LogStore
from support.records.record_batches import a_marker
from support.settings.configs import a_config, a_flow

from orchestration.recovery.failover import Failover
from orchestration.recovery.operator import Operator
from replication.errors import ClusterRejected, ConfigError
from replication.model import NO_PRODUCER_ID, Desired, ProducerIdAndEpoch, TopicPartition
from replication.offsets.known_points import KnownPoints
from replication.records.batch import ABORT, restamp
from replication.records.codec import encode, plain_record
from replication.recovery.procedure import DONE, RUNNING, UNDONE
from replication.state import (
    PRODUCERS_TOPIC,
    Intent,
    Operation,
    ProducerEntry,
    ProvenPosition,
    status_topic,
)

STATUS = status_topic("A")
HERE = TopicPartition("t", 0)
OPEN = Operation("A->B", "op1", "failover", DONE, by="ada@one", turn=1, writable="B")
STOPPED = Intent("A->B", Desired.STOP, "ada@one, failover op1", 1)


class Reader:
    """What is read of the target."""

    def __init__(self) -> None:
        self.target, self.known = MemoryCluster("B"), KnownPoints("A->B")

    def look_at_target(self):
        return self.known

    def run(self, work):
        return asyncio.run(work)


class Stage:
    def __init__(self, *records) -> None:
        self.records, self.reader = LogStore(), Reader()
        self.records.write(STATUS, *records, ProvenPosition("A->B", "op1", "t", 0, "t"))

    def store(self, flow):
        return self.records

    def append(self, producer: int) -> None:
        batch = bytearray(encode([plain_record(0, b"k", b"v")]))
        restamp(batch, *ProducerIdAndEpoch(producer, 0), 0)
        self.log.append(bytes(batch))

    @property
    def log(self):
        return self.reader.target.logs[HERE]

    def undo(self) -> Intent:
        """Undo; return the flow's desired state afterwards."""
        operator = Operator(a_flow(), self.records, print)
        work = Failover(
            flow=a_flow(),
            config=a_config(a_flow()),
            clusters=self,
            operator=operator,
            reader=self.reader,
            sync=None,
        )
        work.undo()
        assert operator.last().writable == ""
        return operator.intent()


@pytest.mark.parametrize("state", [DONE, RUNNING])
def test_an_open_target_is_closed_also_if_its_operator_was_killed_before_it_had_ended(state):
    assert Stage(replace(OPEN, state=state), STOPPED).undo().desired is Desired.RUN


def test_an_undo_that_was_killed_before_the_flow_was_resumed_is_ended_by_the_next_one():
    closed = replace(OPEN, state=UNDONE, turn=2, writable="")
    assert Stage(closed, STOPPED).undo().desired is Desired.RUN


def test_what_was_undone_is_not_undone_again():
    closed = replace(OPEN, state=UNDONE, turn=2, writable="")
    stage = Stage(closed, STOPPED, Intent("A->B", Desired.PAUSE, "bob@two", 2))
    with pytest.raises(ConfigError, match="is not open by a failover"):
        stage.undo()


def test_records_of_another_flow_into_the_same_topic_are_none_of_clients():
    stage = Stage(OPEN, STOPPED)
    stage.append(producer=7)
    with pytest.raises(ClusterRejected, match="clients wrote 1 record to t-0"):
        stage.undo()
    stage.records.write(PRODUCERS_TOPIC, ProducerEntry(7, "C->B", "id-c", "isthmus.C->B.unit-0"))
    assert stage.undo().desired is Desired.RUN


def test_records_without_a_producer_id_are_those_of_clients_also_if_the_flow_has_none():
    stage = Stage(OPEN, STOPPED)
    stage.reader.known.producers.add(NO_PRODUCER_ID)
    stage.append(NO_PRODUCER_ID)
    with pytest.raises(ClusterRejected, match="clients wrote 1 record to t-0"):
        stage.undo()


def test_records_of_an_open_transaction_of_a_client_are_waited_for():
    """They become readable when it is committed, behind what the flow copies meanwhile."""
    stage = Stage(OPEN, STOPPED)
    stage.log.open_from = 0
    stage.append(producer=7)
    with pytest.raises(ClusterRejected, match="open transaction in t-0 on B since the failover"):
        stage.undo()
    stage.log.append(a_marker(0, 7, 0, ABORT))
    stage.log.open_from, stage.log.batches = None, []
    assert stage.undo().desired is Desired.RUN


def test_what_clients_committed_behind_an_open_transaction_of_another_flow_counts():
    stage = Stage(OPEN, STOPPED)
    stage.records.write(PRODUCERS_TOPIC, ProducerEntry(7, "C->B", "id-c", "isthmus.C->B.unit-0"))
    stage.log.open_from = 0
    stage.append(producer=7)
    assert stage.undo().desired is Desired.RUN
    stage = Stage(OPEN, STOPPED)
    stage.records.write(PRODUCERS_TOPIC, ProducerEntry(7, "C->B", "id-c", "isthmus.C->B.unit-0"))
    stage.log.open_from = 0
    stage.append(producer=7)
    stage.append(producer=8)
    with pytest.raises(ClusterRejected, match="open transaction in t-0"):
        stage.undo()
