"""BL-223: clients of an address that leads to another cluster for a moment, and then back."""

from __future__ import annotations

import time

import pytest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest
from support.network.fake_broker import FakeBroker
from support.settings.configs import a_flow

from chaos.proxy import Proxy
from orchestration.flows.kafka_clients import KafkaClusters
from orchestration.flows.observation.flow_reader import look_at
from replication.adapters.auth.reached_clusters import reached_by
from replication.adapters.topics.anchor_reader import AnchorReader
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.adapters.topics.state_store import StateStore
from replication.client.cluster_ids import FlowClusters
from replication.errors import WrongCluster
from replication.mm2.internal_topics_protocol import InternalTopicRecord
from replication.model import TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import Anchor, ClusterIds, FlowStatus, anchors_topic, status_topic

STATUS, ANCHORS = TopicPartition(status_topic("B"), 0), TopicPartition(anchors_topic("B"), 0)
LIMIT_S = 5.0


class Stage:
    """Cluster A, the right one, and B, both of which have all topics; ``front`` leads to one."""

    def __init__(self, a: FakeBroker, b: FakeBroker) -> None:
        self.a, self.b = a, b
        self.front = Proxy(("127.0.0.1", b.port))
        self.client = {"bootstrap.servers": "{}:{}".format(*self.front.address)}
        self.known = FlowClusters("B->A", "id-b", "id-a")
        self.store = StateStore(self.client, 1, verify=self.known.verify_target, reads_any=True)

    def lead_to(self, broker: FakeBroker) -> None:
        self.front.behind = ("127.0.0.1", broker.port)
        self.front.cut()

    def written(self) -> tuple[bool, bool]:
        """Say whether anything was sent to A, and to B."""
        return bool(self.a.requests(ProduceRequest)), bool(self.b.requests(ProduceRequest))


@pytest.fixture
def stage():
    partitions = (STATUS, ANCHORS)
    with FakeBroker(*partitions, name="id-a") as a, FakeBroker(*partitions, name="id-b") as b:
        made = Stage(a, b)
        yield made
        made.front.close()


def hold(broker: FakeBroker, *statuses: FlowStatus) -> None:
    for each in statuses:
        broker.logs[STATUS].append(bytes(encode([plain_record(0, each.key(), each.value())])))


def wait_for(condition) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_bl_223_a_producer_that_met_another_cluster_writes_nothing_there_and_is_made_anew(stage):
    former = stage.store._producer._producers.get()
    assert former.list_topics(timeout=LIMIT_S).cluster_id == "id-b"
    stage.lead_to(stage.a)  # the admin client comes later, and meets the right one
    with pytest.raises(WrongCluster, match="target A is now the cluster with id id-b"):
        stage.store.write(STATUS.topic, FlowStatus("B->A"))
    assert stage.written() == (False, False)
    stage.store.post(STATUS.topic, FlowStatus("B->A"))  # nobody has heard the right id since
    assert "is now the cluster with id id-b" in stage.store.last_error
    assert stage.store.cluster_id() == "id-a"
    stage.store.post(STATUS.topic, FlowStatus("B->A"))
    wait_for(lambda: stage.written() == (True, False))


def test_bl_223_what_is_posted_waits_while_the_address_leads_to_another_cluster(stage):
    assert stage.store.cluster_id() == "id-b"
    stage.store.post(STATUS.topic, FlowStatus("B->A"))
    assert "is now the cluster with id id-b" in stage.store.last_error
    stage.lead_to(stage.a)
    assert stage.store.cluster_id() == "id-a"
    stage.store.post(STATUS.topic, FlowStatus("B->A"))
    wait_for(lambda: stage.written() == (True, False))


def test_bl_223_a_tail_that_met_another_cluster_reads_nothing_there_and_goes_on(stage):
    hold(stage.a, *(FlowStatus("B->A", generation=each) for each in (1, 2)))
    hold(stage.b, *(FlowStatus("B->A", generation=9) for _ in range(5)))
    tail = stage.store.tail(STATUS.topic)
    former = tail._consumers.get()
    assert former.list_topics(timeout=LIMIT_S).cluster_id == "id-b"
    assert stage.store.cluster_id() == "id-b"
    for read in (tail.poll, tail.catch_up):
        with pytest.raises(WrongCluster):
            read()
    stage.lead_to(stage.a)
    assert stage.store.cluster_id() == "id-a"
    assert [each.generation for each in tail.catch_up()] == [1, 2]
    hold(stage.a, FlowStatus("B->A", generation=3))
    assert [each.generation for each in tail.catch_up()] == [3]
    tail.close()


def test_bl_223_a_store_that_reads_any_cluster_returns_what_it_holds_and_finds_the_way_back(stage):
    """An operator may have accepted that cluster there."""
    hold(stage.b, FlowStatus("B->A", generation=9))
    hold(stage.a, FlowStatus("B->A", generation=1))
    assert stage.store.cluster_id() == "id-b"
    assert [each.generation for each in stage.store.read(STATUS.topic).values()] == [9]
    stage.lead_to(stage.a)
    assert [stage.store.cluster_id() for _ in range(2)] == ["id-b", "id-a"]  # it asked B meanwhile
    assert [each.generation for each in stage.store.read(STATUS.topic).values()] == [1]


def test_bl_223_a_client_that_meets_another_cluster_by_itself_has_all_others_made_anew(stage):
    """Its brokers' own addresses lead there, and nobody has asked for an id."""
    for each in (stage.a, stage.b):
        each.lies[MetadataRequest] = lambda _, answer: _behind(answer, stage.front)
    stage.lead_to(stage.a)
    reached, producer = reached_by(stage.client), stage.store._producer._producers.get()
    assert producer.list_topics(timeout=LIMIT_S).cluster_id == "id-a"
    stage.lead_to(stage.b)

    def hears() -> bool:
        producer.poll(0.02)
        return reached.turns > 0

    wait_for(hears)
    stage.store.post(STATUS.topic, FlowStatus("B->A"))
    assert "is now the cluster with id id-b" in stage.store.last_error
    assert stage.written() == (False, False)


def _behind(answer, front: Proxy):
    for each in answer.brokers:
        each.port = front.address[1]
    return answer


def test_bl_223_mirrormakers_topics_are_written_on_the_right_cluster_alone(stage):
    topics = InternalTopicClient(stage.client, verify=stage.known.verify_target)
    topics._producers.get().list_topics(timeout=LIMIT_S)
    assert stage.store.cluster_id() == "id-b"
    with pytest.raises(WrongCluster):
        topics.write(STATUS.topic, [InternalTopicRecord(b"k", b"v")])
    stage.lead_to(stage.a)
    assert stage.store.cluster_id() == "id-a"
    assert topics._producers.get().list_topics(timeout=LIMIT_S).cluster_id == "id-a"
    assert stage.written() == (False, False)


def test_bl_223_a_look_names_the_other_cluster_and_the_next_one_finds_the_right_one(stage):
    """As Dagster and `isthmus status` look, with clients that are kept for the process."""
    flow = a_flow("B", "A")
    at_b = {"bootstrap.servers": stage.b.address}
    clients = flow.clients.model_copy(
        update={"target_admin": stage.client, "source_admin": at_b, "source_consumer": at_b}
    )
    flow = flow.model_copy(update={"clients": clients})
    hold(stage.a, FlowStatus("B->A", generation=1))
    hold(stage.b, FlowStatus("B->A", generation=9))
    clusters, local = KafkaClusters(), ClusterIds("B->A", "id-b", "id-a")
    seen = look_at(flow, clusters, local=local).seen
    assert "target A is now the cluster with id id-b, which is B" in seen.wrong_cluster
    assert seen.status is None
    stage.lead_to(stage.a)
    seen = look_at(flow, clusters, local=local).seen
    assert (seen.wrong_cluster, seen.target_silence, seen.status.generation) == ("", None, 1)


def test_bl_223_figures_are_read_from_the_right_cluster_alone(stage):
    """A driver's metrics, and the end of a batch flow."""
    flow = a_flow("B", "A")
    clients = flow.clients.model_copy(update={"target_producer": stage.client})
    flow = flow.model_copy(update={"clients": clients})
    anchor = Anchor("B->A", "t", 0, "B.t", 0, 0)
    batch = bytes(encode([plain_record(0, anchor.key(), anchor.value())]))
    stage.a.logs[ANCHORS].append(batch)
    reader = AnchorReader(flow, stage.known.verify_target)
    with pytest.raises(WrongCluster):
        reader.look()
    stage.lead_to(stage.a)
    assert list(reader.look().anchors.values()) == [anchor]
    reader._loop.run_until_complete(reader._logs[0].network.close())
    reader._loop.close()
