"""A source log whose tail was rewritten and has grown past the position of its copy."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.settings.state_policies import Policies
from replication.state import Loss, anchors_topic

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def restored(kafka_cluster):
    """A broker whose files tests replace while it is down."""
    return kafka_cluster("restored", heap="256m")


@pytest.fixture
def flow(restored, target_cluster, topic_name) -> Flow:
    topic = topic_name("rewritten")
    for cluster in (restored, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic)
    return Flow(restored, target_cluster, {topic: 1})


def feed(flow: Flow, name: str, count: int) -> list[bytes]:
    (topic,) = flow.topics
    values = [b"%s %d" % (name.encode(), each) for each in range(count)]
    kafka_records.produce(flow.here, topic, [(0, b"k", each) for each in values])
    return values


def values(flow: Flow) -> list[bytes | None]:
    (topic,) = flow.topics
    return [each.value for each in kafka_records.consume_all(flow.to, topic)]


@contextmanager
def stopped(cluster):
    cluster.stop_broker(1)
    yield
    cluster.start_broker(1)


def log_of(flow: Flow):
    (topic,) = flow.topics
    return flow.source.home / "broker-1" / "data" / f"{topic}-0"


def state(flow: Flow) -> str:
    return flow.anchors()[flow.partitions[0]].state


def losses(flow: Flow) -> list[tuple]:
    found = flow.store.read(anchors_topic(flow.alias)).values()
    return [(e.state, e.first, e.next) for e in found if isinstance(e, Loss)]


def test_records_behind_a_rewritten_tail_are_not_passed_over(flow, tmp_path):
    """BL-224."""
    old = feed(flow, "kept", 600)
    flow.copy_all()
    with stopped(flow.source):
        shutil.copytree(log_of(flow), tmp_path / "log")
    old += feed(flow, "lost", 400)
    flow.copy_all(epoch=1)
    with stopped(flow.source):
        shutil.rmtree(log_of(flow))
        shutil.copytree(tmp_path / "log", log_of(flow))
    new = feed(flow, "new", 700)
    assert flow.settle(flow.spec(epoch=2, policies=Policies(source_truncated="stop"))).not_running
    assert (state(flow), values(flow)) == ("SOURCE_TRUNCATED", old)
    flow.copy_all(epoch=3, policies=Policies(source_truncated="continue"))
    assert losses(flow) == [("SOURCE_TRUNCATED", 600, 1000)]
    assert values(flow) == [*old, *new]


def test_a_source_restored_from_an_older_state_is_named(restored, flow, tmp_path):
    """BL-224: its leader epochs are older than those of the copied records."""
    data = restored.home / "broker-1" / "data"
    old = feed(flow, "kept", 600)
    flow.copy_all()
    with stopped(restored):
        shutil.copytree(data, tmp_path / "data")
    with stopped(restored):
        pass  # one leader epoch more
    old += feed(flow, "lost", 400)
    flow.copy_all(epoch=1)
    with stopped(restored):
        shutil.rmtree(data)
        shutil.copytree(tmp_path / "data", data)
    again = Flow(restored, flow.target, flow.topics, alias=flow.alias)  # clients without old epochs
    new = feed(again, "new", 700)
    stop = Policies(source_truncated="stop")
    assert again.settle(again.spec(epoch=2, policies=stop)).not_running
    assert (state(again), values(again)) == ("SOURCE_TRUNCATED", old)
    again.copy_all(epoch=3, policies=Policies(source_truncated="continue"))
    assert losses(again) == [("SOURCE_TRUNCATED", 1000, 1000)]
    assert values(again) == [*old, *new[400:]]
