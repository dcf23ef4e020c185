"""The file of a backfill: a bounded batch flow of the same clusters, under an alias of its own."""

from __future__ import annotations

import pytest

from replication.config.backfill_file import BoundedTopic, Budget, backfill_file, topic_map
from replication.config.load import load_config
from replication.model import TopicPartition
from replication.naming.topic_namer import Namer
from replication.state.backfill_names import BackfillNames, is_backfill

FILE = """\
clusters = A, B, C
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
C.bootstrap.servers = c:1
A.consumer.client.rack = r1
A->B.enabled = true
A->B.topics = orders.*
A->B.copy.start = latest
A->B.on.lost.range = stop
C->B.enabled = true
tasks.max = 4
sync.group.offsets.enabled = true
metrics.port = 9000
spark.conf.spark.driver.memory = 4g
verify.schedule = 37 2 * * *
"""
NAMES = BackfillNames("A", "B")
PARTS = [
    BoundedTopic(TopicPartition("orders.eu", 0), "A.orders.eu", 5, 900),
    BoundedTopic(TopicPartition("orders.eu", 2), "A.orders.eu", 0, 70),
]


@pytest.fixture
def derived(tmp_path):
    own = tmp_path / "mm2.properties"
    own.write_text(FILE)
    names, file = tmp_path / "topics.map", tmp_path / "backfill.properties"
    names.write_text(topic_map(PARTS))
    text = backfill_file(load_config(own).config, NAMES, PARTS, Budget(2, 600 << 20, 7), str(names))
    file.write_text(text)
    return load_config(file).config


def test_the_flow_is_another_one_of_the_same_clusters_which_ends(derived):
    (flow,) = derived.flows
    assert (flow.name, flow.is_batch) == ("A-backfill->B", True)
    assert is_backfill(flow.name)
    assert not is_backfill("A->B")
    assert flow.clients.source_consumer["bootstrap.servers"] == "a:1"
    assert flow.clients.source_consumer["client.rack"] == "r1"
    assert not flow.groups.sync
    assert not flow.mm2.heartbeats.enabled
    assert not flow.creation.enabled
    assert (flow.verify_schedule, derived.metrics.port) == ("", None)


def test_each_partition_is_bounded_and_has_the_name_that_the_stream_gives_it(derived):
    (flow,) = derived.flows
    assert flow.copying.start_offsets == {"orders.eu": {0: 5, 2: 0}}
    assert flow.copying.until_offsets == {"orders.eu": {0: 900, 2: 70}}
    namer = Namer.for_flow(flow, derived)
    (named,) = namer.named(("orders.eu",))
    assert (named.target, named.merges) == ("A.orders.eu", True)
    assert namer.selector.judge("orders.eu").selected
    assert not namer.selector.judge("orders_eu").selected


def test_it_has_a_budget_of_its_own(derived):
    (flow,) = derived.flows
    assert (flow.copying.units, flow.copying.bytes_per_second) == (2, 7)
    assert derived.spark.conf["spark.driver.memory"] == "600m"
