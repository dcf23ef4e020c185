"""Partition states that need an operator: each names its cause and halts only its partition."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from crc32c import crc32c
from support.flows.copier_flows import WAIT_S, Flow, kill, start_unit
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.wire import connect
from replication.model import Choice, PartitionPlan, TopicPartition
from replication.offsets.flow_offsets import FlowOffsets
from replication.offsets.known_points import KnownPoints
from replication.records.batch import walk
from replication.settings.state_policies import Policies
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    Loss,
    anchors_topic,
    dead_letters_topic,
    offsets_topic,
)
from replication.supervision.lag import standing

pytestmark = pytest.mark.integration

LIMIT = {"max.message.bytes": "20000"}
LARGE = b"x" * 50_000


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(partitions: int = 1, configs=None) -> Flow:
        topic = topic_name()
        kafka_records.create_topic(source_cluster.bootstrap_servers, topic, partitions)
        kafka_records.create_topic(target_cluster.bootstrap_servers, topic, partitions, configs)
        return Flow(source_cluster, target_cluster, {topic: partitions})

    return make


def the(flow: Flow) -> str:
    (topic,) = flow.topics
    return topic


def feed(flow: Flow, *values: bytes, partition: int = 0) -> None:
    kafka_records.produce(flow.here, the(flow), [(partition, b"k", each) for each in values])


def recreate(bootstrap: str, topic: str) -> None:
    kafka_records.delete_topics(bootstrap, topic)
    kafka_records.create_topic(bootstrap, topic)


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return [each.value for each in kafka_records.consume_all(bootstrap, topic)]


def state(flow: Flow, partition: int = 0) -> tuple[str, str]:
    anchor = flow.anchors()[TopicPartition(the(flow), partition)]
    return anchor.state, anchor.reason


def reported(flow: Flow) -> list[str]:
    """Return the states that were ever written, in order, each once in a row."""
    tail = flow.store.tail(anchors_topic(flow.alias))
    try:
        states = [each.state for each in tail.catch_up() if isinstance(each, Anchor)]
    finally:
        tail.close()
    return [each for each, before in zip(states, [None, *states], strict=False) if each != before]


def short(flow: Flow, epoch: int, **more):
    """Run an epoch that ends soon after each partition has halted or is copied."""
    return flow.settle(flow.spec(epoch=epoch, **more))


def losses(flow: Flow) -> list[tuple]:
    found = flow.store.read(anchors_topic(flow.alias)).values()
    return sorted(
        (each.partition, each.state, each.first, each.next)
        for each in found
        if isinstance(each, Loss)
    )


def lose(flow: Flow, before: int) -> None:
    """Delete the source's records before an offset, as retention does."""
    kafka_records.delete_records(flow.here, the(flow), {0: before})


def decide(flow: Flow, state: str, position: int, choice: str) -> tuple[PartitionPlan, ...]:
    answer = Choice(state, position, choice)
    return tuple(PartitionPlan(each, each, decision=answer) for each in flow.partitions)


def test_a_source_topic_that_was_recreated_is_not_copied_over_the_old_one(flow):
    """BL-058."""
    one = flow()
    feed(one, b"old")
    one.copy_all()
    recreate(one.here, the(one))
    feed(one, b"new 1", b"new 2")
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
        assert state(one)[0] == "SOURCE_RECREATED"
    assert values(one.to, the(one)) == [b"old"]


def test_a_source_topic_recreated_while_it_is_copied_is_noticed(flow):
    one = flow()
    feed(one, b"old")
    with one.copying(one.spec()) as reports:
        one.wait_copied()
        recreate(one.here, the(one))
        feed(one, b"new")
        one.wait_for(lambda _: state(one)[0] == "SOURCE_RECREATED", "it is noticed")
    assert reports[0].not_running == 1
    assert values(one.to, the(one)) == [b"old"]


def test_a_lost_range_is_named_and_stays_so_until_a_person_acts(flow):
    """BL-056."""
    one = flow()
    feed(one, *[b"%d" % each for each in range(10)])
    one.copy_all()
    feed(one, *[b"%d" % each for each in range(10, 20)])
    lose(one, 15)
    for epoch in (1, 2):
        assert short(one, epoch, policies=Policies(lost_range="stop")).not_running == 1
        assert state(one) == ("LOST_RANGE", "the source no longer has offsets [10, 15)")
    assert reported(one)[-2:] == ["RUNNING", "LOST_RANGE"]  # not a moment of RUNNING in epoch 2
    assert values(one.to, the(one)) == [b"%d" % each for each in range(10)]


def test_a_batch_that_is_too_large_stops_its_partition_only_until_it_is_allowed(flow):
    """BL-049."""
    one = flow(2, LIMIT)
    feed(one, b"a", partition=0)
    one.copy_all()
    feed(one, LARGE, partition=0)
    feed(one, b"behind it", partition=0)
    feed(one, *[b"%d" % each for each in range(50)], partition=1)
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
    assert state(one, 0)[0] == "REFUSED"
    assert "max.message.bytes" in state(one, 0)[1]
    assert state(one, 1) == ("RUNNING", "")
    assert [e for e in reported(one) if e != "RUNNING"]
    assert sorted(values(one.to, the(one))) == sorted([b"a", *(b"%d" % n for n in range(50))])
    allow(one)
    report = short(one, 3)
    assert (report.not_running, report.takeovers) == (0, 0)
    one.assert_equal()


def allow(flow: Flow, config: str = "max.message.bytes", value: str = "1000000") -> None:
    kafka_records.set_config(flow.to, the(flow), config, value)


def test_nothing_lands_behind_a_first_batch_that_is_refused(flow):
    one = flow(1, LIMIT)
    feed(one, LARGE)
    for each in range(30):
        feed(one, b"%d" % each)
    assert short(one, 0).not_running == 1
    assert state(one)[0] == "REFUSED"
    assert values(one.to, the(one)) == []
    allow(one)
    one.copy_all(epoch=1)
    one.assert_equal()


def test_bl_044_a_record_that_is_too_old_for_the_target_waits_until_it_is_allowed(flow):
    limit, now = "message.timestamp.before.max.ms", int(time.time() * 1000)
    one = flow(2, {limit: "86400000"})
    times = [(0, b"old", now - 30 * 86_400_000), (0, b"fresh", now), (1, b"elsewhere", now)]
    listed = [(partition, b"k", value, [], at) for partition, value, at in times]
    kafka_records.produce(one.here, the(one), listed, whole=True)
    assert short(one, 0).not_running == 1
    reported, reason = state(one)
    assert reported == "REFUSED"
    assert "record at offset 0" in reason
    assert "message.timestamp.before" in reason
    assert values(one.to, the(one)) == [b"elsewhere"]
    allow(one, limit, str(2**63 - 1))
    one.copy_all(epoch=1)
    one.assert_equal()


def test_a_target_topic_that_was_recreated_is_left_alone(flow):
    """BL-059."""
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    recreate(one.to, the(one))
    feed(one, b"c")
    for epoch in (1, 2):
        assert short(one, epoch).not_running == 1
        assert state(one) == ("TARGET_RESET", "the target topic was deleted and recreated")
    assert values(one.to, the(one)) == []


def test_a_target_topic_recreated_while_it_is_written_stops_its_partition(flow):
    one = flow()
    feed(one, b"a", b"b")
    with one.copying(one.spec()) as reports:
        one.wait_copied()
        recreate(one.to, the(one))
        feed(one, b"c")
        one.wait_for(lambda _: state(one)[0] == "TARGET_RESET", "it is noticed")
        feed(one, b"d")
        time.sleep(0.5)
    assert reports[0].not_running == 1
    assert len(values(one.to, the(one))) <= 1  # what came before the answer that told


def test_a_topic_with_a_small_limit_gets_its_small_batches_unmerged(flow):
    one = flow(1, {"max.message.bytes": "300"})
    for each in range(40):
        feed(one, b"%d" % each)
    report = one.copy_all()
    assert (report.outcome, report.not_running) == ("clean", 0)
    one.assert_equal()


def test_a_lost_range_is_passed_over_and_recorded_where_the_policy_says_so(flow):
    """BL-056."""
    one = flow(2)
    feed(one, b"a", b"b")
    feed(one, b"elsewhere", partition=1)
    one.copy_all()
    feed(one, *[b"%d" % each for each in range(10)])
    lose(one, 7)
    report = one.copy_all(epoch=1)
    assert (report.not_running, report.takeovers) == (0, 0)
    assert losses(one) == [(0, "LOST_RANGE", 2, 7)]
    assert [one.anchors()[each].lost for each in one.partitions] == [5, 0]
    kept = [b"a", b"b", *(b"%d" % each for each in range(5, 10))]
    assert [e for e in values(one.to, the(one)) if e != b"elsewhere"] == kept


def test_a_person_can_let_a_lost_range_pass_that_the_policy_stops_at(flow):
    one, policies = flow(), Policies(lost_range="stop")
    feed(one, b"a", b"b")
    one.copy_all()
    feed(one, b"c", b"d", b"e")
    lose(one, 4)
    assert short(one, 1, policies=policies).not_running == 1
    other = decide(one, "LOST_RANGE", 1, "continue")  # an answer to another event
    assert short(one, 2, policies=policies, partitions=other).not_running == 1
    answer = decide(one, "LOST_RANGE", 2, "continue")
    one.copy_all(epoch=3, policies=policies, partitions=answer)
    assert losses(one) == [(0, "LOST_RANGE", 2, 4)]
    assert values(one.to, the(one)) == [b"a", b"b", b"e"]


def test_records_copied_before_they_were_removed_are_no_loss(flow):
    """BL-065."""
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    lose(one, 2)
    feed(one, b"c")
    one.copy_all(epoch=1)
    assert losses(one) == []
    assert values(one.to, the(one)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("clean", [True, False])
def test_all_of_a_source_topic_recreated_follows_where_the_policy_says_so(flow, tmp_path, clean):
    """BL-058."""
    one = flow()
    feed(one, b"old 1", b"old 2")
    if clean:
        one.copy_all()
    else:
        process = start_unit(one.spec(), tmp_path)
        one.wait_copied()
        kill(process)
    recreate(one.here, the(one))
    feed(one, *[b"new %d" % each for each in range(5)])
    policies = Policies(source_recreated="continue")
    one.copy_all(epoch=1, policies=policies)
    one.copy_all(epoch=2, policies=policies)
    assert losses(one) == [(0, "SOURCE_RECREATED", 2, 2)]
    expected = [b"old 1", b"old 2", *(b"new %d" % each for each in range(5))]
    assert values(one.to, the(one)) == expected


def damage(flow: Flow, partition: int, batch: int) -> tuple[int, int]:
    """Flip a byte in the body of a batch on the source's disk; return the batch's offsets."""
    folder = flow.source.directory / flow.source.name
    (file,) = folder.glob(f"broker-*/data/{the(flow)}-{partition}/00000000000000000000.log")
    data = bytearray(file.read_bytes())
    batches = list(walk(memoryview(data)))
    found = batches[batch]
    at = sum(len(each.view) for each in batches[: batch + 1]) - 1
    with file.open("r+b") as log:
        log.seek(at)
        log.write(bytes([data[at] ^ 0x55]))
    return found.base, found.last + 1


async def translated(flow: Flow, partitions, offsets: list[int]) -> list[int | None]:
    """Return the target offsets of source offsets, read from the state topics and both logs."""
    found = flow.store.read(anchors_topic(flow.alias)).values()
    known = KnownPoints(flow.name)
    for stored in (
        found,
        flow.store.read(offsets_topic(flow.alias)).values(),
        flow.store.read(PRODUCERS_TOPIC).values(),
    ):
        known.learn(stored)
    ends = [connect({"bootstrap.servers": each}, "test") for each in (flow.here, flow.to)]
    try:
        each = FlowOffsets(known, *ends)
        answers = await each.translate(dict.fromkeys(partitions, offsets))
        assert not each.errors
        return [answers[partitions[0]][offset].offset for offset in offsets]
    finally:
        for end in ends:
            await end.close()


def test_bl_226_a_damaged_batch_is_named_and_exactly_it_is_passed_over(flow):
    one = flow(3)
    expected: dict[int, list[bytes]] = {}
    for number in range(10):
        listed = [b"%d-%d" % (number, n) for n in range(10)]
        for partition in range(3):
            rows = [(partition, b"k", each) for each in listed]
            kafka_records.produce(one.here, the(one), rows, whole=True)
            expected.setdefault(partition, []).extend(listed)
    first, after = damage(one, 1, 5)
    assert after > first
    for epoch in (0, 1):
        assert short(one, epoch).not_running == 1
        reported, reason = state(one, 1)
        assert reported == "SOURCE_CORRUPT"
        assert reason.startswith(f"the source's offsets [{first}, {after}) are damaged: ")
        assert f"{the(one)}-1 at offset {first}: the checksum does not match" in reason
        assert state(one, 0) == state(one, 2) == ("RUNNING", "")
    one.copy_all(epoch=2, partitions=decide(one, "SOURCE_CORRUPT", first, "skip"))
    assert losses(one) == [(1, "SOURCE_CORRUPT", first, after)]
    del expected[1][first:after]
    found = kafka_records.consume_all(one.to, the(one))
    for partition, listed in expected.items():
        assert [each.value for each in found if each.partition == partition] == listed
    answers = asyncio.run(
        translated(one, [TopicPartition(the(one), 1)], [first - 1, after + 3, 100])
    )
    assert answers == [first - 1, first + 3, 100 - (after - first)]


def test_records_that_nobody_can_unpack_are_refused_and_skipped_as_a_batch(flow):
    one = flow()
    feed(one, b"a")
    kafka_records.produce(
        one.here,
        the(one),
        [(0, b"k", b"%d" % n * 99) for n in range(3)],
        {"compression.type": "gzip"},
        whole=True,
    )
    feed(one, b"z")
    folder = one.source.directory / one.source.name
    (file,) = folder.glob(f"broker-*/data/{the(one)}-0/00000000000000000000.log")
    data = bytearray(file.read_bytes())
    size = 12 + int.from_bytes(data[8:12], "big")
    end = size + 12 + int.from_bytes(data[size + 8 : size + 12], "big")
    data[size + 61] ^= 0x55  # the first byte of the compressed records
    data[size + 17 : size + 21] = crc32c(bytes(data[size + 21 : end])).to_bytes(4, "big")
    with file.open("r+b") as log:
        log.write(data)
    assert short(one, 0).not_running == 1
    reported, reason = state(one)
    assert (reported, "offsets [1, 4)" in reason) == ("REFUSED", True), reason
    one.copy_all(epoch=1, partitions=decide(one, "REFUSED", 1, "skip"))
    assert values(one.to, the(one)) == [b"a", b"z"]
    assert losses(one) == [(0, "REFUSED", 1, 4)]


def test_bl_092_a_source_topic_recreated_with_fewer_partitions_is_copied_on(flow):
    one = flow(3)
    for partition in range(3):
        feed(one, b"old", partition=partition)
    one.copy_all()
    before = one.partitions
    recreate(one.here, the(one))
    one.topics = {the(one): 1}
    feed(one, b"new 1", b"new 2", b"new 3")
    one.copy_all(epoch=1, policies=Policies(source_recreated="continue"))
    expected = [b"new 1", b"new 2", b"new 3", b"old", b"old", b"old"]
    assert sorted(values(one.to, the(one))) == expected
    end_offsets = KafkaAdmin({"bootstrap.servers": one.here}).end_offsets(before)
    assert [each.partition for each in standing(one.anchors().values(), end_offsets)] == [0]


@pytest.mark.parametrize(
    ("choice", "expected", "lost"),
    [
        ("reseed", [b"a", b"b", b"c"], []),
        ("continue", [b"c"], [(0, "TARGET_RESET", 0, 2)]),
    ],
)
def test_a_target_topic_recreated_is_filled_as_the_policy_says(flow, choice, expected, lost):
    """BL-059."""
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    recreate(one.to, the(one))
    feed(one, b"c")
    one.copy_all(epoch=1, policies=Policies(target_reset=choice))
    one.copy_all(epoch=2, policies=Policies(target_reset="stop"))
    assert values(one.to, the(one)) == expected
    assert losses(one) == lost


def test_only_the_refused_record_is_left_out_where_the_policy_says_skip(flow):
    one = flow(1, LIMIT)
    one.store.ensure_dead_letters(one.alias)
    listed = [(0, b"k", each) for each in (b"a", LARGE, b"b", b"c", LARGE, b"d")]
    kafka_records.produce(one.here, the(one), listed, whole=True)
    one.copy_all(policies=Policies(refused="skip", dead_letters=True))
    assert values(one.to, the(one)) == [b"a", b"b", b"c", b"d"]
    assert losses(one) == [(0, "REFUSED", 1, 2), (0, "REFUSED", 4, 5)]
    dead_letters = kafka_records.consume_all(one.to, dead_letters_topic(one.alias))
    assert [each.value for each in dead_letters] == [LARGE, LARGE]
    reported = dict(dead_letters[1].headers)
    assert (reported["isthmus.topic"], reported["isthmus.offset"]) == (the(one).encode(), b"4")
    assert b"max.message.bytes" in reported["isthmus.reason"]


def test_records_before_a_refused_one_of_the_same_batch_are_copied(flow):
    one = flow(1, LIMIT)
    listed = [(0, b"k", each) for each in (b"a", b"b", LARGE, b"c")]
    kafka_records.produce(one.here, the(one), listed, whole=True)
    assert short(one, 0).not_running == 1
    assert values(one.to, the(one)) == [b"a", b"b"]
    assert state(one)[0] == "REFUSED"
    assert "record at offset 2" in state(one)[1]
    allow(one)
    assert short(one, 1).takeovers == 0
    one.assert_equal()


def test_a_record_without_a_key_stops_a_compacted_target_with_its_offset_and_the_reason(flow):
    one = flow(1, {"cleanup.policy": "compact"})
    kafka_records.produce(one.here, the(one), [(0, b"k", b"a"), (0, None, b"b"), (0, b"k", b"c")])
    assert short(one, 0).not_running == 1
    assert values(one.to, the(one)) == [b"a"]
    reason = state(one)[1]
    assert "record at offset 1" in reason
    assert "without" in reason
    one.copy_all(epoch=1, policies=Policies(refused="skip"))
    assert values(one.to, the(one)) == [b"a", b"c"]


def lose_topics(flow: Flow, *topics: str) -> None:
    kafka_records.delete_topics(flow.to, *topics)
    flow.store.ensure_topics(flow.alias)


def test_anchors_that_are_gone_lead_to_a_question_and_not_to_a_second_copy(flow):
    one, same = flow(), (0, b"k", b"same", [], 1_700_000_000_000)
    for epoch in range(2):
        kafka_records.produce(one.here, the(one), [same])
        one.copy_all(epoch=epoch)
    lose_topics(one, anchors_topic(one.alias), offsets_topic(one.alias))
    feed(one, b"c")
    for generation in (2, 3):
        assert short(one, 1, generation=generation).not_running == 1
        assert state(one)[0] == "POSITION_LOST"
    assert values(one.to, the(one)) == [b"same"] * 2
    answer = decide(one, "POSITION_LOST", -1, "reseed")
    one.copy_all(generation=4, partitions=answer)
    assert values(one.to, the(one)) == [*[b"same"] * 4, b"c"]


def test_a_position_whose_anchor_is_gone_is_found_by_content(flow):
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    lose_topics(one, anchors_topic(one.alias))
    feed(one, b"c")
    one.copy_all(generation=2)
    assert values(one.to, the(one)) == [b"a", b"b", b"c"]


def last_anchor(flow: Flow) -> Anchor:
    tail = flow.store.tail(anchors_topic(flow.alias))
    try:
        return [each for each in tail.catch_up() if isinstance(each, Anchor)][-1]
    finally:
        tail.close()


def end_of_the_busy(flow: Flow) -> int | None:
    """Return where the anchors end, if the last one is of partition 1 and is the last one still."""
    topic = anchors_topic(flow.alias)
    where = TopicPartition(topic, 0)
    end = flow.store._admin.end_offsets([where])[where]
    is_busy = last_anchor(flow).partition == 1
    return end if is_busy and flow.store._admin.end_offsets([where])[where] == end else None


def test_only_the_quiet_partition_lost_its_anchor_after_its_unit_was_killed(flow, tmp_path):
    """BL-217."""
    one = flow(2)
    feed(one, *[b"%d" % n for n in range(1000)])
    process = start_unit(one.spec(), tmp_path)
    one.wait_copied()
    topic, quiet = anchors_topic(one.alias), TopicPartition(the(one), 0)
    kafka_records.set_config(one.to, topic, "cleanup.policy", "delete")
    deadline = time.monotonic() + WAIT_S
    while (end := end_of_the_busy(one)) is None:  # the quiet one may have something to say as well
        assert time.monotonic() < deadline
        feed(one, b"busy", partition=1)
        one.wait_copied()
    kafka_records.delete_records(one.to, topic, {0: end - 1})  # as retention does
    kafka_records.set_config(one.to, topic, "cleanup.policy", "compact")
    assert one.anchors().keys() == {TopicPartition(the(one), 1)}
    kill(process)
    one.copy_all(generation=2)
    one.assert_equal()
    assert one.anchors()[quiet].source == 1000


def test_a_flow_may_begin_at_a_moment_or_at_named_offsets(flow):
    """BL-124."""
    one, other, named = flow(), flow(), flow(2)
    for each in (one, other):
        listed = [(0, b"k", b"%d" % n, [], 1_700_000_000_000 + n * 1000) for n in range(10)]
        kafka_records.produce(each.here, the(each), listed)
    one.copy_all(start="1700000006000")
    assert values(one.to, the(one)) == [b"6", b"7", b"8", b"9"]
    other.copy_all(start="1800000000000")  # later than all there is: at the end
    feed(other, b"new")
    other.copy_all(epoch=1)
    assert values(other.to, the(other)) == [b"new"]
    for partition in range(2):
        feed(named, *[b"%d" % n for n in range(4)], partition=partition)
    plans = tuple(
        PartitionPlan(each, each, start=3 if each.partition == 0 else None)
        for each in named.partitions
    )
    named.copy_all(partitions=plans)
    assert sorted(values(named.to, the(named))) == [b"0", b"1", b"2", b"3", b"3"]


def test_a_target_that_ends_before_our_last_record_is_noticed_before_anything_is_appended(flow):
    one = flow()
    feed(one, b"a", b"b")
    one.copy_all()
    (part,) = one.partitions
    ahead = replace(one.anchors()[part], target=9)  # as if its log had been cut
    one.store.write(anchors_topic(one.alias), ahead)
    feed(one, b"c")
    assert short(one, 1).not_running == 1
    assert state(one) == (
        "TARGET_RESET",
        (
            "the target ends at offset 2, before our last record, 8: "
            "it was truncated, or deleted and recreated"
        ),
    )
    assert values(one.to, the(one)) == [b"a", b"b"]
    one.copy_all(epoch=2, partitions=decide(one, "TARGET_RESET", 2, "continue"))
    assert values(one.to, the(one)) == [b"a", b"b", b"c"]
    assert losses(one) == [(0, "TARGET_RESET", 0, 2)]


def crash_after(one: Flow, tmp_path, feed_all) -> None:
    """Copy ten records without writing an anchor after the first, and die."""
    process = start_unit(one.spec(anchor_every_s=60), tmp_path)
    one.wait_for(lambda found: found, "it has begun")
    feed_all()
    while len(values(one.to, the(one))) < 10:
        time.sleep(0.1)
    kill(process)


def ten(one: Flow) -> None:
    feed(one, *[b"%d" % each for each in range(10)])


def ten_transactions(one: Flow) -> None:
    producer = Producer({"bootstrap.servers": one.here, "transactional.id": one.alias})
    producer.init_transactions(90)
    for each in range(10):
        producer.begin_transaction()
        producer.produce(the(one), b"%d" % each, b"k", 0)
        producer.commit_transaction(20)


@pytest.mark.parametrize(("fill", "hole"), [(ten, 4), (ten_transactions, 10)])
def test_a_hole_after_a_crash_repeats_nothing_that_lies_behind_it(flow, tmp_path, fill, hole):
    one = flow()
    crash_after(one, tmp_path, lambda: fill(one))
    lose(one, hole)
    feed(one, b"10", b"11")
    assert one.copy_all(epoch=1).takeovers == 1
    assert values(one.to, the(one)) == [b"%d" % each for each in range(12)]
    assert losses(one) == []
    assert "found by content" in state(one)[1]


def test_a_target_whose_retention_passed_our_anchor_is_gone_on_with_by_content(flow, tmp_path):
    one = flow()
    crash_after(one, tmp_path, lambda: [feed(one, b"%d" % each) for each in range(10)])
    kafka_records.delete_records(one.to, the(one), {0: 6})
    feed(one, b"10", b"11")
    assert one.copy_all(epoch=1).takeovers == 1
    assert values(one.to, the(one)) == [b"%d" % each for each in range(6, 12)]
    assert state(one)[0] == "RUNNING"
    assert "found by content" in state(one)[1]
    assert one.copy_all(epoch=2).takeovers == 0


def test_a_position_that_content_does_not_tell_either_is_asked_for(flow, tmp_path):
    one = flow()
    same = [(0, b"k", b"same", [], 1_700_000_000_000)]
    crash_after(
        one, tmp_path, lambda: [kafka_records.produce(one.here, the(one), same) for _ in range(10)]
    )
    kafka_records.delete_records(one.to, the(one), {0: 6})
    assert short(one, 1).not_running == 1
    reported = state(one)
    assert reported[0] == "TARGET_RESET"
    assert "our last batch on the target occurs at several offsets in the source" in reported[1]
    assert len(values(one.to, the(one))) == 4
