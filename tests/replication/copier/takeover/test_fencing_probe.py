"""Whether a target fences: tried on clusters that behave like Kafka, and on others."""

from __future__ import annotations

import asyncio

import pytest
from support.fakes.memory_network import MemoryCluster

from replication.client.network import Fenced, NotGranted
from replication.client.state_topic import state_log
from replication.copier.takeover.fencing_probe import missing_guarantees
from replication.errors import ClusterRejected
from replication.model import ProducerIdAndEpoch
from replication.records.batch import walk


class WithoutEpochs(MemoryCluster):
    """Takes whatever a producer sends, however old its epoch is."""

    def produce(self, node, batches, answer, transactional_id=""):
        for log in self.logs.values():
            log.epochs.clear()
            log.sequences.clear()
        super().produce(node, batches, answer, transactional_id)


class WithoutMarkers(MemoryCluster):
    async def fence(self, transactional_id, producer, partitions):
        pass


class NewIds(MemoryCluster):
    async def init_producer_id(self, transactional_id):
        self.expire(transactional_id)
        self._producers[transactional_id] = ProducerIdAndEpoch(900 + len(self.events), -1)
        return await super().init_producer_id(transactional_id)


def tried_on(cluster: MemoryCluster) -> str:
    return asyncio.run(missing_guarantees(cluster, "isthmus.f.probe"))


def test_a_target_like_kafka_lacks_nothing():
    assert tried_on(MemoryCluster()) == ""


def test_a_target_that_takes_late_appends_does_not_fence():
    assert tried_on(WithoutEpochs()) == "it accepts produce requests of a fenced producer"


def test_a_target_that_refuses_a_late_append_for_another_reason_does_not_fence():
    cluster = WithoutEpochs()
    late = [0]

    def refuse(_topic, batch):
        (found,) = walk(memoryview(batch))
        late[0] += b"late" in bytes(found.view)
        return 87 if b"late" in bytes(found.view) else 0

    cluster.refuse = refuse
    assert "it accepts produce requests" in tried_on(cluster)
    assert late == [1]


def test_a_target_without_markers_is_reported_from_one_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(state_log, "_NO_PROGRESS_S", 0.2)
    assert tried_on(WithoutMarkers()) == "it writes no marker for an aborted transaction"


def test_a_target_that_refuses_plain_appends_is_quoted():
    cluster = MemoryCluster()
    cluster.refuse = lambda _topic, _batch: 87
    assert "rejects a produce request outside a transaction (writing isthmus-probe" in tried_on(
        cluster
    )


def test_a_target_with_a_new_producer_id_each_time_cannot_fence():
    assert tried_on(NewIds()) == "it assigns two producer ids to one transactional id"


@pytest.mark.parametrize("code", [29, 31, 53])
def test_what_our_user_may_not_do_says_nothing_about_the_target(code):
    cluster = MemoryCluster()
    cluster.refuse = lambda _topic, _batch: code
    with pytest.raises(NotGranted) as caught:
        tried_on(cluster)
    assert isinstance(caught.value, ClusterRejected)
    assert not isinstance(caught.value, Fenced)
