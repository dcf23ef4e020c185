"""Comparing topics of two real clusters."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from support.flows.copier_flows import Flow, feeding
from support.flows.spark_driver import wait_for
from support.records.kafka_records import (
    consume_all,
    create_topic,
    delete_records,
    delete_topics,
    produce,
    set_config,
    some_records,
)
from typer.testing import CliRunner

from orchestration.cli.flows.compare_remarks import remarks
from orchestration.cli.main import app
from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.flows.comparison.comparison_verdict import ComparisonRow
from orchestration.flows.comparison.copy_positions import ClusterTopicIds, FlowPositions
from orchestration.flows.comparison.topic_comparison import Options, TopicComparer, compare_topics
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.config.load import load_config
from replication.model import Mode, PartitionState, TopicPartition
from replication.records.comparison_result import DifferenceKind, NoCounterpart
from replication.state import anchors_topic

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

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

    def compare(self, **options) -> dict[DifferenceKind, int]:
        clients = ({"bootstrap.servers": each} for each in (self.source, self.target))
        pairs = [TopicPair(self.topic, self.topic)]
        results = compare_topics(*clients, pairs, Options(**options))
        assert len(results) == 2
        found = [(kind, each.comparison.count(kind)) for each in results for kind in DifferenceKind]
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
    assert copies.compare() == {
        DifferenceKind.LOST: 1,
        DifferenceKind.REPEATED: 1,
        DifferenceKind.DIFFERENT: 1,
    }


def test_a_record_in_another_partition_is_lost_and_extra(copies):
    records = some_records(10, 2)
    copies.fill(records, [(1 - records[0][0], *records[0][1:]), *records[1:]])
    assert copies.compare() == {DifferenceKind.LOST: 1, DifferenceKind.EXTRA: 1}


def test_aborted_records_of_the_source_need_no_copy_but_aborted_copies_are_seen(copies):
    committed = [(0, b"k", b"v", None, 1), (0, b"k", b"w", None, 2)]
    copies.fill(committed, committed)
    abort(copies.source, copies.topic, b"aborted at the source")
    assert copies.compare() == {}
    assert copies.compare(isolation="read_uncommitted") == {DifferenceKind.LOST: 1}
    abort(copies.target, copies.topic, b"aborted at the target")
    assert copies.compare() == {DifferenceKind.EXTRA: 1}


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
    assert sum(each.comparison.count(DifferenceKind.LOST) for each in results) == 4
    assert all(each.missing for each in results)


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
    reported = json.loads(done.stdout)
    assert (reported["result"], reported["equal"], reported["records"], reported["lost"]) == (
        "different",
        False,
        3,
        1,
    )
    assert len(reported["partitions"]) == 2


def test_the_command_knows_its_flows(command):
    done = command("--flow", "b->c")
    assert done.exit_code == 2
    assert "no flow 'b->c'; " in done.stderr
    assert "there is a->b" in done.stderr


def test_topics_without_a_record_are_empty_and_not_equal(command):
    done = command()
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "empty on both sides: 1 topic, 2 partitions"
    assert json.loads(command("-o", "json").stdout)["equal"] is False


def test_the_command_says_when_nothing_is_selected(command):
    done = command("--topics", "none")
    assert done.exit_code == 1
    assert (
        "nothing compared: a->b: a has no topic that matches the flow's patterns and --topics"
        in (done.stdout)
    )


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
    reported = list(map(str, remarks([ComparisonRow("A->B", result)])))
    assert ["timestamps were not compared" in each for each in reported] == [True] * (
        stamping == "target"
    )


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    """A flow with a unit that copies one topic of two partitions, and its comparison."""
    copied = Copying(source_cluster, target_cluster, {topic_name(): 2})
    for cluster in (copied.here, copied.to):
        create_topic(cluster, copied.topic, 2)
    return copied


class Copying(Flow):
    """A flow with one topic, as a file has it."""

    @property
    def topic(self) -> str:
        return next(iter(self.topics))

    def write(self, count: int, seed: int = 1, only: int | None = None) -> None:
        records = some_records(count, 2, seed=seed)
        produce(self.here, self.topic, [r for r in records if only is None or r[0] == only])

    def compare(self, tmp_path, *options: str, status: int, more: str = "") -> dict:
        """Run the command and return its JSON; ``texts``: those of its remarks."""
        run = self.run(tmp_path, "-o", "json", *options, more=more)
        assert run.exit_code == status, run.output
        found = json.loads(run.stdout)
        return {**found, "texts": " | ".join(each["text"] for each in found["remarks"])}

    def run(self, tmp_path, *options: str, more: str = "") -> Result:
        return CliRunner().invoke(app, ["compare", str(self.written(tmp_path, more)), *options])

    def written(self, tmp_path, more: str = "") -> Path:
        """Write the flow's file; ``more``: lines of it."""
        file = tmp_path / "flow.properties"
        file.write_text(
            f"clusters = {self.alias}, B\n{self.alias}.bootstrap.servers = {self.here}\n"
            f"B.bootstrap.servers = {self.to}\n{self.name}.enabled = true\n"
            f"{self.name}.topics = {self.topic}\nreplication.policy.class = "
            "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\nreplication.factor = 1\n"
            f"heartbeats.replication.enabled = false\n{more}"
        )
        return file


def test_a_live_pair_is_equal_with_the_rest_in_flight(flow, tmp_path):
    flow.write(200)
    flow.copy_all()
    flow.write(20, seed=2)  # no unit copies it
    reported = flow.compare(tmp_path, status=0)
    assert (reported["result"], reported["records"], reported["same"], reported["lost"]) == (
        "equal",
        200,
        200,
        0,
    )
    assert reported["in_flight"] == 20
    shown = flow.run(tmp_path)
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (
        0,
        "equal: 200 records, 0 lost, 0 repeated, 0 different, 0 out of order; 20 in flight",
    )
    assert "20 records in flight: after what the anchors say is copied" in shown.stdout


def test_while_records_are_written_and_copied_a_comparison_is_equal(flow, tmp_path):
    flow.write(50)
    with feeding(flow, 500), flow.copying(flow.spec()):
        flow.wait_moved(200)
        assert flow.compare(tmp_path, "--wait", "60", status=0)["result"] == "equal"


def test_what_the_anchor_says_is_copied_and_the_target_does_not_have_is_lost(flow, tmp_path):
    flow.write(100)
    flow.copy_all()
    flow.write(20, seed=2)
    [first, *_] = flow.anchors().values()
    flow.store.write(anchors_topic(flow.alias), replace(first, source=first.source + 3))
    reported = flow.compare(tmp_path, status=1)
    assert (reported["result"], reported["lost"], reported["in_flight"]) == ("different", 3, 17)


def test_waiting_has_a_limit_and_names_what_is_not_copied(flow, tmp_path):
    flow.write(100)
    flow.copy_all()
    flow.write(20, seed=2, only=1)
    reported = flow.compare(tmp_path, "--wait", "0.1", status=1)
    [late] = reported["not_copied_in_time"]
    assert late["partition"] == f"{flow.topic}-1"
    assert (reported["result"], reported["lost"]) == ("incomplete", 0)
    with flow.copying(flow.spec(2)):
        assert flow.compare(tmp_path, "--wait", "60", status=0)["in_flight"] == 0


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_retention_deleted_on_one_side_is_not_lost(flow, tmp_path, side):
    flow.write(1_000)
    flow.copy_all()
    ends = {number: anchor.source for (_, number), anchor in flow.anchors().items()}
    deleted = {number: 7 * end // 10 for number, end in ends.items()}
    delete_records(flow.here if side == "source" else flow.to, flow.topic, deleted)
    reported = flow.compare(tmp_path, status=0)
    assert reported["result"] == "equal"
    assert reported[f"deleted_on_the_{side}"] == sum(deleted.values())
    assert reported["same"] == 1_000 - sum(deleted.values())
    cluster = flow.alias if side == "source" else "B"
    assert f"deleted on {cluster}, before its first offset (retention)" in reported["texts"]


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_retention_deletes_while_records_are_compared_is_not_lost(flow, side, tmp_path):
    flow.write(400, only=0)
    flow.copy_all()
    partition = TopicPartition(flow.topic, 0)
    end = flow.anchors()[partition].source

    class Deleting(FlowPositions):
        """Deletes records after it was asked where the logs begin, before they are read."""

        asked = 0

        def begins(self, source, starts):
            found = super().begins(source, starts)
            self.asked += 1
            if self.asked == 1:
                delete_records(flow.here if side == "source" else flow.to, flow.topic, {0: 50})
            return found

    clients = [{"bootstrap.servers": each} for each in (flow.here, flow.to)]
    configured = load_config(flow.written(tmp_path)).config.flows[0]
    positions = Deleting(configured, ClusterTopicIds())
    comparer = TopicComparer((clients[0], clients[1]), Options(), positions=positions)
    try:
        [work, _] = comparer.plan([TopicPair(flow.topic, flow.topic)])
        found = comparer.compare(work, lambda _: None).comparison
    finally:
        comparer.close()
        positions.close()
    assert positions.asked > 1
    assert found.is_clean()
    why = NoCounterpart.DELETED_ON_SOURCE if side == "source" else NoCounterpart.DELETED_ON_TARGET
    assert (found.equal, found.no_counterpart[why]) == (end - 50, 50)


def test_equal_records_on_both_sides_of_what_retention_deleted_are_told_apart(flow, tmp_path):
    produce(flow.here, flow.topic, [(0, b"k", b"v", None, 1)] * 100)
    flow.copy_all()
    delete_records(flow.to, flow.topic, {0: 70})
    reported = flow.compare(tmp_path, status=0)
    assert (reported["same"], reported["deleted_on_the_target"], reported["lost"]) == (30, 70, 0)


def test_retention_does_not_hide_a_loss(flow, tmp_path):
    flow.write(200, only=0)
    flow.copy_all()
    flow.write(5, seed=2, only=0)
    anchor = flow.anchors()[TopicPartition(flow.topic, 0)]
    end = flow.admin.end_offsets([TopicPartition(flow.topic, 0)])
    lost = end[TopicPartition(flow.topic, 0)] - anchor.source
    flow.store.write(anchors_topic(flow.alias), replace(anchor, source=anchor.source + lost))
    delete_records(flow.to, flow.topic, {0: 50})
    reported = flow.compare(tmp_path, status=1)
    assert reported["lost"] == lost


def test_what_was_written_before_the_copy_started_is_told_apart(flow, tmp_path):
    flow.write(100)
    starts = flow.admin.end_offsets(flow.partitions)
    spec = flow.spec()
    plans = tuple(replace(each, start=starts[each.source]) for each in spec.partitions)
    flow.write(50, seed=2)
    with flow.copying(replace(spec, partitions=plans)):
        flow.wait_copied()
    reported = flow.compare(tmp_path, status=0)
    assert (reported["same"], reported["before_the_copy_start"], reported["lost"]) == (50, 100, 0)


def test_a_topic_that_the_target_does_not_have_is_named(flow, tmp_path):
    flow.write(10)
    with_map = f"{flow.name}.topics.rename.regex = (.+)\n"
    with_map += f"{flow.name}.topics.rename.replacement = nowhere-$1\n"
    reported = flow.compare(tmp_path, status=1, more=with_map)
    assert reported["result"] == "different"
    [missing] = [each for each in reported["remarks"] if each["about"] == "missing_topic"]
    assert missing["text"] == f"B has no topic nowhere-{flow.topic}"
    assert reported["lost"] == 10


def test_a_missing_topic_without_records_is_a_difference_too(flow, tmp_path):
    with_map = f"{flow.name}.topics.rename.regex = (.+)\n"
    with_map += f"{flow.name}.topics.rename.replacement = nowhere-$1\n"
    assert flow.compare(tmp_path, status=1, more=with_map)["result"] == "different"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_that_has_more_partitions_on_one_side_is_named(flow, tmp_path, side):
    flow.write(20)
    flow.copy_all()
    grown = flow.here if side == "source" else flow.to
    admin = KafkaAdmin({"bootstrap.servers": grown})
    admin.grow_topic(flow.topic, 3)
    wait_for(lambda: admin.topics()[flow.topic].partitions == 3)
    reported = flow.compare(tmp_path, status=1 if side == "source" else 0)
    about = "missing_partitions" if side == "source" else "more_partitions"
    [growth] = [each for each in reported["remarks"] if each["about"] == about]
    assert growth["partitions"] == [2]
    assert reported["same"] == 20


def test_a_compacted_topic_is_compared_by_key(flow, tmp_path):
    records = [(0, b"%d" % (n % 5), b"v%d" % n, None, n) for n in range(50)]
    produce(flow.here, flow.topic, records)
    produce(flow.to, flow.topic, records[-7:])  # as if the target's cleaner had been there
    for each in (flow.here, flow.to):
        set_config(each, flow.topic, "cleanup.policy", "compact")
    reported = flow.compare(tmp_path, status=0)
    assert (reported["same"], reported["compacted_on_the_target"]) == (7, 43)
    assert f"compacted on {flow.alias} and B: compared by key" in reported["texts"]


def test_a_halted_partition_is_a_difference_while_records_wait_for_it(flow, tmp_path):
    flow.write(100)
    flow.copy_all()
    anchor = flow.anchors()[TopicPartition(flow.topic, 0)]
    halted = replace(anchor, state=PartitionState.REFUSED, reason="too large")
    flow.store.write(anchors_topic(flow.alias), halted)
    assert flow.compare(tmp_path, status=0)["result"] == "equal"
    flow.write(20, seed=2, only=0)
    reported = flow.compare(tmp_path, status=1)
    assert (
        "the partition is halted, so records in flight are not copied: REFUSED: too large"
        in (reported["texts"])
    )
    began = time.monotonic()
    flow.compare(tmp_path, "--wait", "60", status=1)
    assert time.monotonic() - began < 55


def test_a_partition_without_a_leader_is_waited_for_and_never_counts_as_copied(
    flow, tmp_path, monkeypatch
):
    flow.write(30)
    flow.copy_all()
    asked, known = [], KafkaAdmin.end_offsets

    def leaderless(admin, partitions):
        found = known(admin, partitions)
        asked.append(found.pop(TopicPartition(flow.topic, 1), None))
        return found

    monkeypatch.setattr(KafkaAdmin, "end_offsets", leaderless)
    reported = flow.run(tmp_path, "--wait", "0.1")
    assert (reported.exit_code, len(asked) > 1) == (2, True)  # neither equal nor different
    assert f"{flow.topic}-1 has no leader on {flow.alias}" in reported.stderr
    monkeypatch.setattr(KafkaAdmin, "end_offsets", known)
    assert flow.compare(tmp_path, "--wait", "60", status=0)["result"] == "equal"


def test_records_of_another_flow_into_the_same_topic_are_left_out_and_named(flow, tmp_path):
    flow.write(30)
    flow.copy_all()
    produce(flow.to, flow.topic, some_records(7, 2, seed=9))
    back = f"B->{flow.alias}.enabled = true\nB->{flow.alias}.topics = {flow.topic}\n"
    reported = flow.compare(tmp_path, "--flow", flow.name, status=0, more=back)
    assert (reported["same"], reported["of_other_producers"]) == (30, 7)
    assert "7 records of other producers in the target topic left out" in reported["texts"]
    assert flow.compare(tmp_path, status=1)["extra"] == 7


def test_copies_in_transactions_are_read_committed(flow, tmp_path):
    flow.write(50)
    spec = flow.spec()
    plans = tuple(replace(each, mode=Mode.TRANSACTIONAL) for each in spec.partitions)
    with flow.copying(replace(spec, partitions=plans)):
        flow.wait_copied()
    abort(flow.to, flow.topic, b"aborted copy")
    reported = flow.compare(tmp_path, status=0)
    assert (reported["result"], reported["same"]) == ("equal", 50)


def test_a_topic_that_was_created_again_is_compared_without_its_old_anchor(flow, tmp_path):
    flow.write(30)
    flow.copy_all()
    old = flow.anchors()[TopicPartition(flow.topic, 0)]
    again = replace(old, source_topic_id="00" * 16)
    flow.store.write(anchors_topic(flow.alias), again)
    reported = flow.compare(tmp_path, status=0)
    assert "the source topic was created again since it was copied" in reported["texts"]


def test_a_topic_that_was_deleted_on_the_source_is_named(flow, tmp_path):
    flow.write(10)
    flow.copy_all()
    delete_topics(flow.here, flow.topic)
    reported = flow.compare(tmp_path, status=1)
    assert reported["result"] == "nothing compared"
    assert reported["gone"] == [{"flow": flow.name, "cluster": flow.alias, "topic": flow.topic}]
