"""Comparing topics of two real clusters."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer
from support.kafka_records import consume_all, create_topic, produce, some_records
from typer.testing import CliRunner

from orchestration.cli.flows.compare_report import Row, examples
from orchestration.cli.main import app
from orchestration.flows.compared_partition import TopicPair
from orchestration.flows.comparison import Options, compare_topics
from replication.records.comparison_result import Kind

pytestmark = pytest.mark.integration


@pytest.fixture
def copies(source_cluster, target_cluster, topic_name):
    """Make a topic on both clusters and return how to fill and to compare them."""
    return Copies(source_cluster.bootstrap_servers, target_cluster.bootstrap_servers, topic_name())


class Copies:
    def __init__(self, source: str, target: str, topic: str) -> None:
        self.source, self.target, self.topic = source, target, topic
        for cluster in (source, target):
            create_topic(cluster, topic, 2)

    def fill(self, source: list[tuple], target: list[tuple]) -> None:
        produce(self.source, self.topic, source)
        produce(self.target, self.topic, target, {"compression.type": "zstd"})

    def compare(self, **options) -> dict[Kind, int]:
        clients = ({"bootstrap.servers": each} for each in (self.source, self.target))
        pairs = [TopicPair(self.topic, self.topic)]
        results = compare_topics(*clients, pairs, Options(**options))
        assert len(results) == 2
        found = [(kind, each.comparison.count(kind)) for each in results for kind in Kind]
        return {kind: sum(n for k, n in found if k is kind) for kind, n in found if n}


def test_a_copy_with_other_batches_and_compression_is_equal(copies):
    records = some_records(5_000, 2)
    copies.fill(records, records)
    assert copies.compare() == {}


def test_each_fault_is_found_in_what_brokers_hold(copies):
    records = some_records(100, 2)
    copy = list(records)
    copy[40] = (*copy[40][:4], copy[40][4] + 1)  # another timestamp
    copy.append(records[10])
    del copy[70]
    copies.fill(records, copy)
    assert copies.compare() == {Kind.LOST: 1, Kind.REPEATED: 1, Kind.DIFFERENT: 1}


def test_a_record_in_another_partition_is_lost_and_extra(copies):
    records = some_records(10, 2)
    copies.fill(records, [(1 - records[0][0], *records[0][1:]), *records[1:]])
    assert copies.compare() == {Kind.LOST: 1, Kind.EXTRA: 1}


def test_aborted_records_of_the_source_need_no_copy_but_aborted_copies_are_seen(copies):
    committed = [(0, b"k", b"v", None, 1), (0, b"k", b"w", None, 2)]
    copies.fill(committed, committed)
    abort(copies.source, copies.topic, b"aborted at the source")
    assert copies.compare() == {}
    assert copies.compare(isolation="read_uncommitted") == {Kind.LOST: 1}
    abort(copies.target, copies.topic, b"aborted at the target")
    assert copies.compare() == {Kind.EXTRA: 1}


def test_records_of_an_open_transaction_are_not_waited_for(copies):
    committed = [(0, b"k", b"v", None, 1)]
    copies.fill(committed, committed)
    producer = Producer({"bootstrap.servers": copies.source, "transactional.id": copies.topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(copies.topic, b"open", partition=0)
    producer.flush(30)
    assert copies.compare() == {}
    producer.commit_transaction(30)


def abort(bootstrap: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value, partition=0)
    producer.flush(30)
    producer.abort_transaction(30)


def test_a_topic_that_is_not_on_the_target_is_lost(copies, topic_name):
    produce(copies.source, copies.topic, some_records(4))
    clients = [{"bootstrap.servers": each} for each in (copies.source, copies.target)]
    results = compare_topics(*clients, [TopicPair(copies.topic, topic_name("none"))])
    assert sum(each.comparison.count(Kind.LOST) for each in results) == 4


@pytest.fixture
def command(copies, tmp_path):
    """Run ``isthmus compare`` on the two topics."""
    file = tmp_path / "mm2.properties"
    file.write_text(
        f"clusters = a, b\na.bootstrap.servers = {copies.source}\n"
        f"b.bootstrap.servers = {copies.target}\na->b.enabled = true\n"
        f"a->b.topics = {copies.topic}\nreplication.policy.class = "
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\nreplication.factor = 1\n"
        "heartbeats.replication.enabled = false\n"  # the source may hold other tests' ones
    )
    return lambda *options: CliRunner().invoke(app, ["compare", str(file), *options])


def test_the_command_says_equal(copies, command):
    records = some_records(20, 2)
    copies.fill(records, records)
    done = command()
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == (
        "equal: 20 records, 0 lost, 0 repeated, 0 different, 0 out of order"
    )


def test_the_command_says_what_is_different_and_where(copies, command):
    records = [record for record in some_records(20, 2) if record[0] == 0]
    copies.fill(records, [*records[:3], *records[4:], records[2]])
    done = command("--flow", "a->b")
    assert done.exit_code == 1, done.output
    topic = copies.topic
    assert done.stdout.splitlines()[-3:] == [
        f"  {topic}-0 -> {topic}-0: 1 lost: source offset 3",
        f"  {topic}-0 -> {topic}-0: 1 repeated: target offset 9",
        "different: 10 records, 1 lost, 1 repeated, 0 different, 0 out of order",
    ]


def test_the_command_answers_programs_in_json(copies, command):
    copies.fill(some_records(3, 2), some_records(2, 2))
    done = command("-o", "json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["equal"], told["records"], told["lost"], told["not_yet"]) == (False, 3, 1, 1)
    assert len(told["partitions"]) == 2


def test_the_command_knows_its_flows(command):
    done = command("--flow", "b->c")
    assert done.exit_code == 2
    assert "no flow 'b->c'; " in done.stderr
    assert "there is a->b" in done.stderr


def test_the_command_says_when_nothing_is_selected(command):
    done = command("--topics", "none")
    assert done.exit_code == 2
    assert "no topic matches; list the selected topics with: isthmus plan" in done.stderr


@pytest.mark.parametrize("stamping", ["source", "target"])
def test_where_brokers_put_their_own_time_on_records_a_copy_is_equal_and_it_is_reported(
    source_cluster, target_cluster, topic_name, stamping
):
    topic, own = topic_name(), {"message.timestamp.type": "LogAppendTime"}
    clients = []
    for cluster, name in ((source_cluster, "source"), (target_cluster, "target")):
        create_topic(cluster.bootstrap_servers, topic, 1, own if name == stamping else {})
        clients.append({"bootstrap.servers": cluster.bootstrap_servers})
    produce(source_cluster.bootstrap_servers, topic, [(0, b"k", b"%d" % n) for n in range(50)])
    copied = consume_all(source_cluster.bootstrap_servers, topic)
    records = [(0, each.key, each.value, (), each.timestamp) for each in copied]
    produce(target_cluster.bootstrap_servers, topic, records)
    [result] = compare_topics(*clients, [TopicPair(topic, topic)])
    assert result.comparison.equal == 50
    assert result.timed == (stamping == "source")
    told = list(examples([Row("A->B", result)]))
    assert ["timestamps were not compared" in each for each in told] == [True] * (
        stamping == "target"
    )
