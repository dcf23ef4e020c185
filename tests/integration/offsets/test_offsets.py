"""Offsets translated between real clusters: each one lands on the same record, by its content."""

from __future__ import annotations

import random

import pytest
from confluent_kafka import Producer
from support.flows.command import run_command
from support.flows.copier_flows import Flow, kill, start_unit
from support.flows.kept_name_clusters import Mesh
from support.records import kafka_records

from replication.adapters.offset_reader import OffsetReader
from replication.config.load import load_config
from replication.model import Mode, PartitionPlan, TopicPartition

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def transact(flow, topic, partition, turn, *, commit):
    """Write some records in a transaction; the values tell them apart from all others."""
    who = flow.alias.encode()
    producer = Producer(
        {
            "bootstrap.servers": flow.here,
            "transactional.id": f"{topic}-{partition}",
            **kafka_records.QUIET,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(7):
        producer.produce(
            topic, b"%s-txn-%d-%d-%d" % (who, turn, number, commit), partition=partition
        )
    producer.flush(30)
    (producer.commit_transaction if commit else producer.abort_transaction)(30)


def feed(flow, topic, turn):
    """Write transactions and plain records, in batches of some size each."""
    for partition in (0, 1):
        transact(flow, topic, partition, turn, commit=turn % 2 == 0)
    for number in range(6):
        values = (b"%s-%d-%d-%d" % (flow.alias.encode(), turn, number, n) for n in range(120))
        kafka_records.produce(
            flow.here, topic, [(n % 2, b"k", each) for n, each in enumerate(values)]
        )


@pytest.fixture(scope="module")
def merged(source_cluster, target_cluster, kafka_cluster, tmp_path_factory):
    """Two sources merged into one topic, with transactions, crashes and takeovers on the way."""
    home = tmp_path_factory.mktemp("offsets")
    name = kafka_records.create_topic(target_cluster.bootstrap_servers, "merged-offsets", 2)
    other = kafka_cluster("other")
    flows = []
    for cluster in (source_cluster, other):
        kafka_records.create_topic(cluster.bootstrap_servers, name, 2)
        flows.append(Flow(cluster, target_cluster, {name: 2}))
    for turn in range(4):
        units = [start_unit(each.spec(turn + 1), home) for each in flows]
        for flow in flows:
            feed(flow, name, turn)
        for flow in flows:
            flow.wait_copied()
        for unit in units:
            kill(unit)
    for flow in flows:
        flow.copy_all(9)  # fences and counts, and ends cleanly
    yield name, [(each, each.alias.encode()) for each in flows]
    for flow in flows:
        flow.store.close()


class InTransactions(Flow):
    """A flow that copies in transactions: each of them leaves a marker on the target."""

    def spec(self, generation=1, epoch=0, **more):
        plans = tuple(PartitionPlan(e, e, mode=Mode.TRANSACTIONAL) for e in self.partitions)
        return super().spec(generation, epoch, **{"partitions": plans, **more})


@pytest.fixture(scope="module")
def in_transactions(source_cluster, target_cluster, tmp_path_factory):
    """One source, copied in transactions, by units that were killed."""
    home = tmp_path_factory.mktemp("offsets")
    name = "transactional-offsets"
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, name, 2)
    flow = InTransactions(source_cluster, target_cluster, {name: 2})
    for turn in range(3):
        unit = start_unit(flow.spec(turn + 1), home)
        feed(flow, name, turn)
        flow.wait_copied()
        kill(unit)
    flow.copy_all(9)
    yield name, [(flow, flow.alias.encode())]
    flow.store.close()


@pytest.fixture(scope="module")
def in_a_circle(source_cluster, target_cluster, tmp_path_factory):
    """Two clusters that copy to each other under kept names; one unit was killed."""
    mesh = Mesh({"A": source_cluster, "B": target_cluster}, "AB BA")
    with mesh.writing("A", "B"), mesh.copying(without=("A", "B")):
        mesh.killed(("A", "B"), 1, tmp_path_factory.mktemp("circle"))
    with mesh.copying(generation=2):
        mesh.write("A", 40)
    return mesh.topic, [(mesh.flows["A", "B"], b"A "), (mesh.flows["B", "A"], b"B ")]


def reader_of(flow, home):
    file, target = home / f"{flow.alias}.properties", flow.name.partition("->")[2]
    file.write_text(
        f"clusters = {flow.alias}, {target}\n"
        f"{flow.alias}.bootstrap.servers = {flow.here}\n"
        f"{target}.bootstrap.servers = {flow.to}\n"
        f"{flow.name}.enabled = true\n"
        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    )
    return file, OffsetReader(load_config(file).config.flow(flow.name))


@pytest.mark.parametrize("copied", ["merged", "in_transactions", "in_a_circle"])
def test_random_positions_land_on_the_same_record_both_ways(copied, request, tmp_path):
    name, flows = request.getfixturevalue(copied)
    chance = random.Random(4)
    for flow, mark in flows:
        _, reader = reader_of(flow, tmp_path)
        reader.look()
        sides = [
            kafka_records.consume_all(each, name, "read_committed") for each in (flow.here, flow.to)
        ]
        for partition in (0, 1):
            here, there = (
                [e for e in side if e.partition == partition and e.value.startswith(mark)]
                for side in sides
            )
            assert len(here) == len(there)
            where = TopicPartition(name, partition)
            offsets = [chance.randrange(here[-1].offset + 2) for _ in range(250)]
            check(reader, where, offsets, (here, there), back=False)
            offsets = [chance.randrange(there[-1].offset + 2) for _ in range(250)]
            check(reader, where, offsets, (there, here), back=True)
        reader.close()


def check(reader, partition, offsets, sides, *, back):
    here, there = sides
    found = reader.translate({partition: offsets}, back=back)[partition]
    by_offset = {each.offset: each.value for each in there}
    for offset in offsets:
        following = next((each for each in here if each.offset >= offset), None)
        answer = found[offset]
        assert answer.exact
        if following is None:
            assert answer.offset > there[-1].offset
        else:
            assert by_offset[answer.offset] == following.value


def test_the_command_translates_and_says_what_it_does_not_know(merged, tmp_path):
    name, ((flow, _), _) = merged
    file, reader = reader_of(flow, tmp_path)
    reader.close()

    def isthmus(*options):
        done = run_command("offsets", "translate", file, *options)
        return done.code, done.out + done.err

    code, output = isthmus("--flow", flow.name, "--topic", name, "--offset", "5")
    assert (code, f"{name}-0 offset 5 is {name}-0 offset " in output) == (0, True), output
    code, output = isthmus("--flow", flow.name, "--topic", "nope", "--offset", "5")
    assert code == 2
    assert f"copied from {flow.alias}: no topic 'nope'; there is {name}" in output
    code, output = isthmus("--flow", "X->Y", "--topic", name, "--offset", "5")
    assert (code, f"there is {flow.name}" in output) == (2, True), output
    code, output = isthmus(
        "--flow", flow.name, "--topic", name, "--partition", "7", "--offset", "5"
    )
    assert (code, f"topic {name}: no partition '7'; there is 0, 1" in output) == (2, True), output
    code, output = isthmus("--flow", flow.name, "--topic", name, "--offset", "99999999")
    assert (code, "offset 99999999 is beyond the end of the source (" in output) == (1, True), (
        output
    )
