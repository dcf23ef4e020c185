"""Group offsets synced between real clusters: all kinds of groups, and refusals."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition
from support.flows.command import run_command
from support.flows.copier_flows import Flow, kill, start_unit
from support.records import kafka_records

from replication.adapters.group_syncs import GroupSyncs, opened_sync
from replication.adapters.mm2_writers import position_of
from replication.config.load import load_config
from replication.errors import ClusterUnavailable
from replication.mm2.checkpoints import CheckpointMemory
from replication.model import PartitionPlan, TopicPartition
from replication.offsets.groups.consumer_groups import CommitGroup, Committed

pytestmark = [pytest.mark.integration, pytest.mark.slow]
PARTITIONS, MANY = 12, 500
LARGEST = (1 << 63) - 1


class World:
    """A flow that has copied two topics, one of them written in transactions, and its groups."""

    def __init__(self, source, target, home):
        self.orders = kafka_records.create_topic(
            source.bootstrap_servers, "orders-groups", PARTITIONS
        )
        self.payments = kafka_records.create_topic(source.bootstrap_servers, "payments-groups", 1)
        topics = {self.orders: PARTITIONS, self.payments: 1}
        self.flow = Flow(source, target, topics)
        kafka_records.create_topic(target.bootstrap_servers, self.orders, PARTITIONS)
        kafka_records.create_topic(target.bootstrap_servers, self.payments, 1)
        kafka_records.produce(
            self.flow.here, self.orders, kafka_records.some_records(1200, PARTITIONS)
        )
        transact(self.flow, self.payments)
        self.connect(home)

    @classmethod
    def over(cls, flow, home):
        """Return one around a flow that has copied already."""
        made = cls.__new__(cls)
        made.flow = flow
        made.connect(home)
        return made

    def connect(self, home):
        self.file = home / "groups.properties"
        self.file.write_text(
            f"clusters = {self.flow.alias}, B\n"
            f"{self.flow.alias}.bootstrap.servers = {self.flow.here}\n"
            f"B.bootstrap.servers = {self.flow.to}\n"
            f"{self.flow.name}.enabled = true\n"
            f"{self.flow.name}.sync.group.offsets.enabled = true\n"
            "replication.policy.class = "
            "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
        )
        config = load_config(self.file).config
        self.warnings = []
        self.syncs = GroupSyncs(config, lambda _, text: self.warnings.append(text))
        self.sync = self.syncs.of(config.flow(self.flow.name))

    def close(self):
        self.syncs.close()
        self.flow.store.close()

    def commit(self, group, topic, partition, offset, *, metadata="", target=False):
        """Let a group of one cluster stand somewhere; nobody is in it afterwards."""
        groups = self.sync.target if target else self.sync.source
        groups.listed()
        at = {TopicPartition(topic, partition): Committed(offset, metadata)}
        assert groups.commit([CommitGroup(group, at)]) == {}

    def on_target(self, group):
        listed = self.sync.target.listed()
        if group not in listed:
            return {}
        return self.sync.target.positions([listed[group]])[group]

    def stored(self, group):
        """Return the offsets of a group that are stored for a failover."""
        held = self.sync.offsets.look().groups[group].positions
        return {TopicPartition(topic, number): offset for topic, number, offset in held}

    def command(self, *options, verb=("offsets",)):
        """Run the command on the world's file; return its exit code and output."""
        done = run_command(*verb, options[0], self.file, *options[1:])
        return done.code, done.out + done.err


def listed(text: str) -> list[dict]:
    """Return the JSON list of an output that may end with what would change."""
    return json.loads(text.rpartition("]\n")[0] + "]")


def transact(flow, topic):
    producer = Producer(
        {"bootstrap.servers": flow.here, "transactional.id": topic, **kafka_records.QUIET}
    )
    producer.init_transactions(30)
    for _ in range(3):
        producer.begin_transaction()
        for _ in range(5):
            producer.produce(topic, b"paid", partition=0)
        producer.commit_transaction(30)


def consume(bootstrap, group, topic, most, protocol="classic"):
    """Be a real consumer that reads some records, commits and leaves."""
    if not most:
        return
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **kafka_records.QUIET,
        }
    )
    consumer.subscribe([topic])
    read = 0
    while read < most:
        read += sum(1 for each in consumer.consume(most - read, 1.0) if each.error() is None)
    consumer.commit(asynchronous=False)
    consumer.close()


@pytest.fixture(scope="module")
def world(source_cluster, target_cluster, tmp_path_factory):
    made = World(source_cluster, target_cluster, tmp_path_factory.mktemp("groups"))
    made.flow.copy_all(1)
    consume(made.flow.here, "classic", made.orders, 600)
    consume(made.flow.here, "modern", made.orders, 1200, "consumer")
    made.sync.source.listed()
    many = [
        CommitGroup(
            f"many-{number:03}",
            {
                TopicPartition(made.orders, p): Committed((number + p) % 100, f"m{number}")
                for p in range(PARTITIONS)
            },
        )
        for number in range(MANY)
    ]
    assert made.sync.source.commit(many) == {}
    made.commit("console-consumer-1", made.orders, 0, 5)
    made.commit("elsewhere", made.orders, 0, 50)
    made.commit("elsewhere", made.orders, 0, 80, target=True)
    made.commit("odd", made.payments, 0, 1, metadata="kept")
    made.text = made.sync.sync()
    yield made
    made.close()


def test_bl_074_all_of_many_groups_are_carried_over(world):
    for number in range(0, MANY, 83):
        found = world.on_target(f"many-{number:03}")
        assert found == {
            TopicPartition(world.orders, p): Committed((number + p) % 100, f"m{number}")
            for p in range(PARTITIONS)
        }
    assert f" groups, {MANY + 3} updated" in world.text  # tests of other things have some too


@pytest.mark.parametrize(("group", "read"), [("classic", 600), ("modern", 1200)])
def test_bl_080_groups_without_running_members_are_carried_over(world, group, read):
    found = world.on_target(group)
    copies = kafka_records.consume_all(world.flow.to, world.orders)
    at = {where.partition: each.offset for where, each in found.items()}
    behind = sum(each.offset < at.get(each.partition, 0) for each in copies)
    assert behind == read
    consume(world.flow.to, group, world.orders, 1200 - read)  # and they go on from there


def test_bl_071_a_group_at_the_end_of_a_transactional_topic_has_no_lag_on_the_target(world):
    partition = TopicPartition(world.payments, 0)
    (end,) = world.sync.offsets.ends([partition], target=False).values()
    world.commit("at-end", world.payments, 0, end[1])
    world.sync.sync()
    (end,) = world.sync.offsets.ends([partition], target=True).values()
    assert world.on_target("at-end")[partition].offset == end[1]


def test_an_offset_in_an_open_transaction_is_neither_stored_nor_taken_for_none(world):
    """A consumer that commits with its producer: its offsets are hidden until that has ended."""
    group, where = "in-transaction", TopicPartition(world.orders, 2)
    world.commit(group, *where, 40)
    world.sync.sync()
    name = f"{world.flow.alias}-open"
    producer = Producer(
        {"bootstrap.servers": world.flow.here, "transactional.id": name, **kafka_records.QUIET}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    consumer = Consumer({"bootstrap.servers": world.flow.here, "group.id": group})
    offsets = [ClientPartition(*where, 60)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
    consumer.close()
    found = world.sync.plan()
    assert (group, where) in found.undecided
    assert all(each.group != group for each in (*found.commits, *found.problems))
    assert "1 offsets in open transactions" in world.sync.sync()
    assert world.stored(group) == {where: 40}
    assert world.on_target(group)[where].offset == 40
    producer.commit_transaction(30)
    deadline = time.monotonic() + 30
    while world.stored(group) != {where: 60} and time.monotonic() < deadline:
        world.sync.sync()
    assert world.stored(group) == {where: 60}
    assert world.on_target(group)[where].offset == 60


def test_metadata_is_kept(world):
    assert world.on_target("odd") == {TopicPartition(world.payments, 0): Committed(1, "kept")}


def test_bl_026_excluded_groups_are_left_alone_and_the_rule_is_reported(world):
    partition = TopicPartition(world.orders, 0)
    here = world.sync.source.positions([world.sync.source.listed()["console-consumer-1"]])
    assert here["console-consumer-1"][partition] == Committed(5)
    assert partition in world.on_target("many-000"), "positions in this partition are synced"
    assert world.on_target("console-consumer-1") == {}
    rules = {each.name: each.reason for each in world.sync.plan().excluded}
    rule = "excluded by 'console-consumer-.*' of groups.exclude, a default"
    assert rules["console-consumer-1"] == rule
    assert " excluded, " in world.text


def test_bl_036_where_names_are_kept_groups_stand_in_the_topic_that_the_data_is_in(world):
    assert {each.topic for each in world.on_target("classic")} == {world.orders}
    prefixed = f"{world.flow.alias}.{world.orders}"
    assert prefixed not in world.flow.store._admin.topic_names()


def test_groups_that_are_further_on_are_left_alone(world):
    assert world.on_target("elsewhere")[TopicPartition(world.orders, 0)].offset == 80


def test_a_second_round_moves_nothing(world):
    config = load_config(world.file).config
    with opened_sync(config.flow(world.flow.name), config) as (sync, _):
        sync.sync()  # of all groups: it has seen none of them before
        assert sync.plan().commits == ()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_live_members_on_the_target_is_never_touched(world, protocol):
    group = f"live-{protocol}"
    world.commit(group, world.orders, 0, 70)
    consumer = Consumer(
        {
            "bootstrap.servers": world.flow.to,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            **kafka_records.QUIET,
        }
    )
    consumer.subscribe([world.orders])
    deadline = time.monotonic() + 120
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.2)
    assert consumer.assignment()
    assert "active members on the target" in world.sync.sync()
    assert world.on_target(group) == {}
    at = {TopicPartition(world.orders, 0): Committed(70)}
    refused = world.sync.target.commit([CommitGroup(group, at)])
    assert "active members" in str(refused[group])
    consumer.close()
    world.sync.sync()
    assert world.on_target(group) == at


def test_what_a_group_has_read_is_on_the_target_with_the_next_anchors(world):
    with world.flow.copying(world.flow.spec(2)):
        kafka_records.produce(world.flow.here, world.payments, [(0, b"k", b"v")] * 20)
        end = kafka_records.consume_all(world.flow.here, world.payments)[-1].offset + 1
        world.commit("fresh", world.payments, 0, end)
        world.sync.sync()
        (now,) = world.on_target("fresh").values()
        copies = kafka_records.consume_all(world.flow.to, world.payments)
        assert now.offset > copies[-1].offset


def test_bl_077_restarts_take_no_group_back_and_stop_no_translation(world, tmp_path):
    partition = TopicPartition(world.payments, 0)
    before = 0
    for turn in range(3):
        unit = start_unit(world.flow.spec(10 + turn), tmp_path)
        kafka_records.produce(world.flow.here, world.payments, [(0, b"k", b"v")] * 30)
        world.flow.wait_copied()
        kill(unit)
        world.commit(
            "restarts-behind", world.payments, 0, 2 + turn
        )  # far behind all of the restarts
        (end,) = world.sync.offsets.ends([partition], target=False).values()
        world.commit("restarts-ahead", world.payments, 0, end[1])
        with world.flow.copying(world.flow.spec(20 + turn)):
            world.flow.wait_copied()
            world.sync.sync()
        (ahead,) = world.on_target("restarts-ahead").values()
        assert ahead.offset > before
        before = ahead.offset
        assert world.on_target("restarts-behind") == {partition: Committed(2 + turn)}


def test_the_commands_show_set_export_and_import(world):
    world.commit("by-hand", world.orders, 3, 40)
    code, text = world.command("diff", "-o", "json")
    reason = text.rpartition("]\n")[2]
    (line,) = [each for each in listed(text) if each["group"] == "by-hand"]
    assert f"would change; set them with: isthmus offsets sync {world.file}" in reason
    assert (code, line["action"], line["translated"], line["source_lag"]) == (2, "set", 40, 60)
    name, partition = world.flow.name, TopicPartition(world.orders, 3)
    _, text = world.command("plan", "--groups", verb=())
    assert f"{name}: set group by-hand to {partition} offset 40" in text
    code, exported = world.command("export", "-o", "csv")
    rows = [e for e in csv.DictReader(io.StringIO(exported)) if e["group"] == "by-hand"]
    assert (code, [e["target_offset"] for e in rows]) == (0, ["40"])
    file = Path(world.file).with_name("export.csv")
    file.write_text(exported)
    code, text = world.command("import", str(file), "--flow", name)
    assert (code, "nothing was changed" in text) == (0, True), text
    assert world.on_target("by-hand") == {}
    code, text = world.command("import", str(file), "--flow", name, "--yes")
    assert (code, world.on_target("by-hand")) == (0, {partition: Committed(40)}), text
    at = ["--group", "by-hand", "--topic", world.orders, "--partition", "3"]
    code, text = world.command("set", "--flow", name, *at, "--offset", "7", "--yes")
    assert (code, world.on_target("by-hand")[partition].offset) == (0, 7), text
    code, text = world.command("set", "--flow", name, *at, "--offset", "9999", "--yes")
    assert (code, "offset 9999 is out of range" in text) == (2, True), text
    slips = {"group": "by-hnad", "topic": f"{world.orders}x", "partition": "77"}
    for kind, known in {"group": "by-hand", "topic": world.orders, "partition": "3"}.items():
        wrong = ["--group", "by-hand", f"--{kind}", slips[kind]]
        code, text = world.command("set", "--flow", name, *wrong)
        assert (code, f"no {kind} {slips[kind]!r}; " in text) == (2, True), text
        assert known in text.splitlines()[-1].rpartition("; ")[2], text
    code, text = world.command("sync")
    assert (code, world.on_target("by-hand")[partition].offset) == (0, 40), text


def test_an_offset_that_does_not_exist_is_translated_nowhere_and_named_everywhere(world):
    partition = TopicPartition(world.orders, 5)
    here, there = ends_of(world, partition)
    for group, offset in (("typed", here + 1), ("largest", LARGEST), ("at-the-end", here)):
        world.commit(group, *partition, offset)
    world.commit("typed", world.orders, 6, 3)
    world.warnings.clear()
    for _ in range(2):
        assert " not moved, " in world.sync.sync()
    beyond = f"is beyond the end of the source ({here})"
    typed = f"{partition} offset {here + 1} {beyond}"
    largest = f"{partition} offset {LARGEST} {beyond}"
    (once,) = world.warnings
    assert f"group largest: {largest}, group typed: {typed}" in once
    assert world.on_target("typed") == {TopicPartition(world.orders, 6): Committed(3)}
    assert world.on_target("largest") == {}
    assert world.on_target("at-the-end") == {partition: Committed(there)}
    checkpoints = written_by(world)
    assert checkpoints["at-the-end", 5] == (here, there)
    assert checkpoints["typed", 6] == (3, 3)
    assert not checkpoints.keys() & {("typed", 5), ("largest", 5)}

    of = ("--flow", world.flow.name, "--topic", world.orders, "--partition", "5", "--offset")
    for side, end, other, more in (
        ("source", here, there, ()),
        ("target", there, here, ("--reverse",)),
    ):
        for offset in (end + 1, LARGEST):
            text = f"{partition} offset {offset} is beyond the end of the {side} ({end})\n"
            assert world.command("translate", *of, str(offset), *more) == (1, text)
        text = f"{partition} offset {end} is {partition} offset {other}\n"
        assert world.command("translate", *of, str(end), *more) == (0, text)
    _, text = world.command("diff", "-o", "json")
    (line,) = [
        each
        for each in listed(text)
        if (each["group"], each["partition"]) == ("typed", str(partition))
    ]
    assert (line["action"], line["translated"]) == (f"skip: {typed}", None)
    code, text = world.command("set", "--flow", world.flow.name, "--group", "largest", "--yes")
    assert (code, text.splitlines()) == (
        1,
        [
            f"leave group largest in {partition} unchanged: {largest}",
            f"1 position not set, the first of group largest: {largest}",
        ],
    )


def test_an_import_leaves_and_names_offsets_that_the_target_does_not_have(world):
    partition = TopicPartition(world.orders, 7)
    here, there = ends_of(world, partition)
    for group, offset in (("away", LARGEST), ("here", 9)):
        world.commit(group, *partition, offset)
    code, exported = world.command("export")
    rows = [each for each in json.loads(exported) if each["group"] in {"away", "here"}]
    problem = f"{partition} offset {LARGEST} is beyond the end of the source ({here})"
    assert {e["group"]: (e["target_offset"], e["problem"]) for e in rows} == {
        "away": (None, problem),
        "here": (9, ""),
    }
    row = {**rows[0], "group": "typed-in"}
    odd = [{**row, "target_offset": LARGEST}, {**row, "partition": 99, "target_offset": 1}]
    file = Path(world.file).with_name("typed.json")
    file.write_text(json.dumps([*rows, *odd]))
    code, text = world.command("import", str(file), "--flow", world.flow.name, "--yes")
    assert code == 1
    beyond = f"offset {LARGEST} is beyond the end of the target ({there})"
    assert f"leave group typed-in in {partition} unchanged: {beyond}" in text
    assert f"offset 1 is not in a partition that {world.flow.name} copies to" in text
    assert world.on_target("here") == {partition: Committed(9)}
    assert world.on_target("typed-in") == world.on_target("away") == {}


def test_a_topic_that_was_recreated_is_named_and_holds_up_no_other(
    source_cluster, target_cluster, tmp_path
):
    topics = {"kept-groups": 1, "recreated-groups": 1}
    for cluster in (source_cluster, target_cluster):
        for name in topics:
            kafka_records.create_topic(cluster.bootstrap_servers, name, 1)
    world = World.over(Flow(source_cluster, target_cluster, topics), tmp_path)
    world.sync.offsets.run(world.sync.offsets.source.refresh(topics))
    kept, gone = (TopicPartition(name, 0) for name in topics)
    for each in (kept, gone):
        kafka_records.produce(world.flow.here, each.topic, [(0, b"k", b"v")] * 20)
    ids = {each: world.sync.offsets.source.topic_id(each.topic).hex() for each in (kept, gone)}
    plans = tuple(PartitionPlan(each, each, source_topic_id=ids[each]) for each in ids)
    with world.flow.copying(world.flow.spec(1, partitions=plans)):
        world.flow.wait_copied()
    kafka_records.delete_topics(world.flow.here, gone.topic)
    kafka_records.create_topic(world.flow.here, gone.topic, 1)
    kafka_records.produce(world.flow.here, gone.topic, [(0, b"k", b"new")] * 20)
    world.commit("reader", *kept, 7)
    world.commit("reader", *gone, 7)
    text = world.sync.sync()
    why = f"topic {gone.topic} was deleted and recreated on the source since it was copied"
    assert f"1 not moved, reader because {gone} offset 7 cannot be translated: {why}" in text
    assert world.on_target("reader") == {kept: Committed(7)}
    world.close()


def ends_of(world, partition):
    """Return the end of a partition on the source, and of its copy."""
    reader = world.sync.offsets
    return tuple(reader.ends([partition], target=each)[partition].end for each in (False, True))


def written_by(world):
    """Return source and target offset of each checkpoint that would be written now, by group."""
    news = CheckpointMemory().news(map(position_of, world.sync.translated()))
    return {(each.group, each.partition): (each.upstream, each.downstream) for each in news}


def test_bl_079_group_sync_goes_on_by_itself_after_a_coordinator_was_away(
    kafka_cluster, target_cluster, tmp_path
):
    alone = {"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "6"}
    three = kafka_cluster("coordinators", brokers=3, properties=alone)
    topic = "outage-groups"
    for cluster, factor in ((three, 3), (target_cluster, 1)):
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 1, None, factor)
    flow = Flow(three, target_cluster, {topic: 1})
    kafka_records.produce(flow.here, topic, [(0, b"k", b"v")] * 50)
    flow.copy_all(1)
    world = World.over(flow, tmp_path)
    for number in range(12):
        world.commit(f"away-{number}", topic, 0, 10 + number)
    homes = {name: each.node for name, each in world.sync.source.listed().items()}
    gone = homes["away-0"]
    three.stop_broker(gone)
    deadline = time.monotonic() + 60
    while "were not read" not in reported(world.sync.sync):  # at first a connection may just break
        assert time.monotonic() < deadline
    for name, home in homes.items():
        assert bool(world.on_target(name)) == (home != gone), name
    three.start_broker(gone)
    deadline = time.monotonic() + 60
    while not all(world.on_target(each) for each in homes):
        assert time.monotonic() < deadline
        with contextlib.suppress(ClusterUnavailable):
            world.sync.sync()
        time.sleep(0.5)
    world.close()


def reported(action) -> str:
    """Return what it says of clusters that do not answer."""
    try:
        action()
    except ClusterUnavailable as error:
        return str(error)
    return ""
