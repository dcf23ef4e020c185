"""Our own state on the target is partly lost: nothing is copied twice, and nothing is silent."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.two_clusters import TwoClusters, ungranted
from support.fakes.memory_network import Log, MemoryCluster
from support.records.record_batches import a_batch

from replication.copier import anchor_writer, unit
from replication.copier.takeover import takeover
from replication.copier.takeover.placement import lost_anchor
from replication.model import BY_ID, Choice, PartitionPlan, PartitionState, TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    Claim,
    ProducerEntry,
    anchors_topic,
    offsets_topic,
    parse,
)

QUIET, BUSY = TopicPartition("orders", 0), TopicPartition("orders", 1)
PLANS = (PartitionPlan(QUIET, QUIET), PartitionPlan(BUSY, BUSY))
ANCHORS, POINTS = anchors_topic("A"), offsets_topic("A")
LOST = PartitionState.POSITION_LOST


@pytest.fixture
def pair():
    two = TwoClusters(partitions=PLANS)
    yield two
    two.close()


def lose(two: TwoClusters, topic: str, is_lost=lambda _: True) -> None:
    """Take records from a state topic; nothing but the records shows it."""
    place = TopicPartition(topic, 0)
    before, after = two.target.logs[place], Log()
    for key, value in before.records():
        if not is_lost(parse(key, value)):
            after.append(bytes(encode([plain_record(0, key, value)])))
    two.target.logs[place] = after


def of(partition: TopicPartition):
    """Return whether a record is the anchor, claim or point of ``partition``."""
    return lambda found: (
        not isinstance(found, ProducerEntry)
        and (found.topic, found.partition) == (partition.topic, partition.partition)
    )


def copy_on(two: TwoClusters, epoch: int, **more) -> None:
    """Copy an epoch in a new process, of a new driver."""
    host = two.another()
    two.copy(epoch, host, **{"generation": epoch + 1, **more})
    host.close()


def state(two: TwoClusters, partition: TopicPartition = QUIET) -> tuple[str, str]:
    found = [each for each in two.anchors() if each.partition == partition.partition]
    return found[-1].state, found[-1].reason


def fed(two: TwoClusters) -> None:
    two.feed(b"a", b"b", b"c", partition=QUIET)
    two.feed(b"1", b"2", partition=BUSY)
    two.copy()
    assert (len(two.copied(QUIET)), len(two.copied(BUSY))) == (3, 2)


def test_invariant_l_a_quiet_partition_that_lost_its_anchor_goes_on_where_its_content_ends(pair):
    """BL-217."""
    fed(pair)
    lose(pair, ANCHORS, of(QUIET))
    pair.feed(b"3", partition=BUSY)
    copy_on(pair, 1)
    assert (pair.copied(QUIET), pair.copied(BUSY)) == ([b"a", b"b", b"c"], [b"1", b"2", b"3"])
    assert "the anchor was missing: the position 3 was found by content" in state(pair)[1]
    pair.feed(b"d", partition=QUIET)
    copy_on(pair, 2)
    assert pair.copied(QUIET) == [b"a", b"b", b"c", b"d"]
    ended = [each for each in pair.anchors() if each.partition == 0][-1]
    assert (ended.source, ended.clean, ended.since[0]) == (4, True, 3)


def test_a_wait_for_a_former_producer_goes_on_in_the_next_epoch_if_it_is_longer(pair, monkeypatch):
    """With epochs of 30 s, as by default, a wait of 40 s would begin anew in each of them."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.9)
    monkeypatch.setattr(unit, "_START_GRACE_S", 0.1)
    fed(pair)
    pair.target.expire("isthmus.A->B.0")
    pair.feed(b"3", partition=BUSY)
    lose(pair, ANCHORS, lambda each: isinstance(each, Anchor) and each.clean)  # it has crashed
    host, later = pair.another(), {"generation": 2, "epoch_s": 0.3}
    outcomes = [pair.copy(epoch, host, **later).outcome for epoch in range(1, 6)]
    assert outcomes[0] == (
        "A->B: copying begins in 1 s: until then requests of former producers of "
        "isthmus.A->B.0 may still reach the target"
    )
    assert outcomes[-1] == "clean"
    assert (pair.copied(QUIET), pair.copied(BUSY)) == ([b"a", b"b", b"c"], [b"1", b"2", b"3"])


def test_invariant_l_content_that_occurs_twice_proves_nothing_and_an_operator_is_asked(pair):
    for epoch in (0, 1):
        pair.feed(b"same", partition=QUIET)
        pair.copy(epoch)
    lose(pair, ANCHORS, of(QUIET))
    for epoch in (2, 3):
        copy_on(pair, epoch)
        assert state(pair)[0] == LOST
        assert (
            "our last batch on the target occurs at several offsets in the source"
            in (state(pair)[1])
        )
    assert pair.copied(QUIET) == [b"same", b"same"]
    pair.feed(b"more", partition=QUIET)
    decided = replace(PLANS[0], decision=Choice(LOST, -1, "reseed"))
    copy_on(pair, 4, partitions=(decided, PLANS[1]))
    assert pair.copied(QUIET) == [b"same", b"same", b"same", b"same", b"more"]


def test_invariant_l_an_offset_point_shows_that_a_partition_was_copied(pair):
    fed(pair)
    lose(pair, ANCHORS, of(QUIET))
    pair.target.logs[QUIET].delete_before(pair.target.logs[QUIET].end)
    copy_on(pair, 1)
    assert state(pair)[0] == LOST
    assert "its stored offsets say that it was copied up to offset" in state(pair)[1]
    assert pair.copied(QUIET) == []


def test_invariant_l_offset_points_are_evidence_for_each_of_several_partitions(pair, monkeypatch):
    """They are examined at the same time, and the points are read once."""
    fetch = MemoryCluster.fetch

    async def later(*arguments):
        await asyncio.sleep(0)
        return await fetch(*arguments)

    monkeypatch.setattr(MemoryCluster, "fetch", later)
    third = TopicPartition("orders", 2)
    plans = (*PLANS, PartitionPlan(third, third))
    pair.feed(b"x", partition=third)
    pair.copy(partitions=plans[2:])
    fed(pair)
    lose(pair, ANCHORS, lambda each: of(QUIET)(each) or of(BUSY)(each))
    for place in (QUIET, BUSY):
        pair.target.logs[place].delete_before(pair.target.logs[place].end)
    copy_on(pair, 1, partitions=plans)
    for place in (QUIET, BUSY):
        assert state(pair, place)[0] == LOST
        assert "its stored offsets say that it was copied up to offset" in state(pair, place)[1]
        assert pair.copied(place) == []


@pytest.mark.parametrize("head", ["anchors", "points"])
def test_invariant_l_a_target_without_copies_counts_as_new_unless_state_has_lost_its_head(
    pair, head
):
    fed(pair)
    lose(pair, POINTS)
    lose(pair, ANCHORS, of(QUIET))
    log = pair.target.logs[TopicPartition(ANCHORS if head == "anchors" else POINTS, 0)]
    log.end = log.start = log.end + 5
    target = pair.target.logs[QUIET]
    target.delete_before(target.end)
    if head == "anchors":
        log.batches.clear()
    copy_on(pair, 1)
    assert state(pair)[0] == LOST
    assert "other state of this flow is missing too" in state(pair)[1]


def test_invariant_l_records_of_others_on_the_target_do_not_make_a_new_partition_wait(pair):
    pair.copy(partitions=PLANS[1:])
    pair.target.logs[QUIET].append(a_batch(0, [b"of another"], (77, 0, 0)))
    pair.feed(b"a", partition=QUIET)
    copy_on(pair, 1)
    assert pair.copied(QUIET) == [b"of another", b"a"]


def test_invariant_l_records_without_a_producer_id_are_not_taken_for_ours(pair):
    """A flow to which the target grants no producer id has copied elsewhere."""
    pair.target.init_producer_id = pair.target.plain_producer_id = ungranted
    pair.feed(b"1", partition=BUSY)
    pair.copy(partitions=PLANS[1:])
    pair.target.logs[QUIET].append(a_batch(0, [b"of another"]))
    pair.feed(b"a", partition=QUIET)
    copy_on(pair, 1)
    assert pair.copied(QUIET) == [b"of another", b"a"]


def test_invariant_l_copies_under_many_records_of_others_are_found_where_state_is_missing(
    pair, monkeypatch
):
    fed(pair)
    lose(pair, ANCHORS, of(QUIET))
    lose(pair, POINTS)
    monkeypatch.setattr(lost_anchor, "_TAIL", 2)
    for _ in range(5):
        pair.target.logs[QUIET].append(a_batch(0, [b"of another"], (77, 0, 0)))
        pair.target.logs[QUIET].sequences.clear()
    pair.feed(b"d", partition=QUIET)
    copy_on(pair, 1)
    assert pair.copied(QUIET) == [b"a", b"b", b"c", *[b"of another"] * 5, b"d"]


def test_invariant_l_the_former_appender_cannot_append_behind_the_position_that_was_found(pair):
    fed(pair)
    former = pair.host
    lose(pair, ANCHORS)
    copy_on(pair, 1)
    pair.feed(b"d", partition=QUIET)
    pair.copy(1, former)
    copy_on(pair, 2)
    assert pair.copied(QUIET) == [b"a", b"b", b"c", b"d"]


def test_a_running_unit_writes_the_anchors_of_quiet_partitions_again_from_time_to_time(
    pair, monkeypatch
):
    monkeypatch.setattr(anchor_writer, "_ALL_AGAIN_S", 0.1)
    pair.feed(b"a", partition=QUIET)
    pair.copy(epoch_s=0.8)
    written = [each.source for each in pair.anchors() if of(QUIET)(each) and not each.clean]
    assert written.count(1) > 3


def test_where_a_search_begins_is_never_taken_for_an_anchor(pair):
    fed(pair)
    lose(pair, ANCHORS, of(QUIET))
    pair.source.down = True  # the search finds nothing: the unit ends with its claim written
    copy_on(pair, 1, epoch_s=0.6)
    log = pair.target.logs[TopicPartition(ANCHORS, 0)]
    mine = [parse(*each) for each in log.records()]
    mine = [each for each in mine if of(QUIET)(each)]
    assert any(isinstance(each, Claim) for each in mine)
    assert all(each.source is None for each in mine if isinstance(each, Anchor))
    pair.source.down = False
    copy_on(pair, 2)
    assert pair.copied(QUIET) == [b"a", b"b", b"c"]


def test_invariant_f_what_the_registry_has_lost_is_restored_from_the_anchors(pair):
    fed(pair)
    before = entries(pair)
    lose(pair, PRODUCERS_TOPIC)
    copy_on(pair, 1)
    assert entries(pair) == before
    lose(pair, ANCHORS, lambda each: isinstance(each, ProducerEntry))
    copy_on(pair, 2)
    lose(pair, PRODUCERS_TOPIC)
    copy_on(pair, 3)
    assert entries(pair) == before


def test_invariant_f_an_appender_that_only_an_anchor_names_is_registered_again(pair):
    fed(pair)
    (before,) = entries(pair).values()
    lose(pair, PRODUCERS_TOPIC)
    lose(pair, ANCHORS, lambda each: isinstance(each, ProducerEntry))
    copy_on(pair, 1)
    (after,) = entries(pair).values()
    assert replace(after, at_ms=before.at_ms) == before
    assert after.at_ms > before.at_ms  # it says that older ones may be missing


@pytest.mark.parametrize("of_another", [False, True])
def test_invariant_l_the_producer_id_that_all_state_has_lost_is_asked_of_the_target(
    pair, monkeypatch, of_another
):
    """Else the last batch of an older one of ours would count as the end of the copy."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.0)
    fed(pair)
    pair.target.expire("isthmus.A->B.0")
    pair.feed(b"d", partition=QUIET)
    copy_on(pair, 1)
    assert pair.copied(QUIET) == [b"a", b"b", b"c", b"d"]
    new = max(entries(pair))
    for topic in (PRODUCERS_TOPIC, ANCHORS):
        lose(
            pair, topic, lambda each: not isinstance(each, ProducerEntry) or each.producer_id == new
        )
    pair.feed(b"e", partition=QUIET)
    copy_on(pair, 2, unit=int(of_another))
    assert pair.copied(QUIET) == [b"a", b"b", b"c", b"d", b"e"]


def entries(two: TwoClusters) -> dict[int, ProducerEntry]:
    listed = two.target.logs[TopicPartition(PRODUCERS_TOPIC, 0)].records()
    return {each.producer_id: each for each in (parse(*some) for some in listed)}


STEPS = st.sampled_from(
    ["feed", "crash", "anchors partly", "anchors", "points", "registry", "policy", "claims"]
)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_invariant_l_whatever_state_is_lost_each_record_is_copied_once_or_a_question_is_asked(
    steps,
):
    """BL-217."""
    two, count = TwoClusters(partitions=PLANS), 0
    try:
        fed(two)
        for epoch, step in enumerate(steps, 1):
            count += 1
            two.feed(b"n%d" % count, partition=BUSY)
            take_away(two, step, count)
            copy_on(two, epoch)
        for again in range(1, 5):  # on a slow machine
            if any(len(two.copied(e)) < len(two.source.logs[e].values()) for e in (QUIET, BUSY)):
                copy_on(two, len(steps) + again)
        for place in (QUIET, BUSY):
            expected, found = two.source.logs[place].values(), two.copied(place)
            asked = state(two, place)[0] == LOST
            assert found == expected or (asked and found == expected[: len(found)]), (place, steps)
    finally:
        two.close()


def take_away(two: TwoClusters, step: str, count: int) -> None:
    match step:
        case "feed":
            two.feed(b"q%d" % count, partition=QUIET)
        case "crash":
            two.crash()
        case "anchors partly":
            lose(two, ANCHORS, of((QUIET, BUSY)[count % 2]))
        case "anchors" | "points" | "registry":
            lose(two, {"anchors": ANCHORS, "points": POINTS, "registry": PRODUCERS_TOPIC}[step])
        case "policy":  # cleanup.policy=delete for a while
            log = two.target.logs[TopicPartition(ANCHORS, 0)]
            log.delete_before(log.end // 2)
        case "claims":
            lose(two, ANCHORS, lambda each: isinstance(each, Claim))


def test_what_former_units_copied_stays_there_when_the_registry_is_gone_and_a_way_back_is_opened():
    """BL-219."""
    plans = [PartitionPlan(each, each, origins=BY_ID) for each in (QUIET, BUSY)]
    two = TwoClusters(partitions=tuple(plans))
    try:
        two.feed(b"a", b"b", partition=QUIET)
        two.feed(b"1", b"2", partition=BUSY)
        for unit, plan in enumerate(plans):
            two.copy(unit, partitions=(plan,), unit=unit)
        copy_on(two, 2)  # by one unit
        lose(two, PRODUCERS_TOPIC)
        copy_on(two, 3)
        back = {"flow": "B->A", "source_alias": "B", "target_alias": "A"}
        servers = {"source": {"bootstrap.servers": "b:1"}, "target": {"bootstrap.servers": "a:1"}}
        report = two.copy(4, two.another(), generation=5, **back, **servers)
        assert (report.outcome, report.records) == ("clean", 0)
        assert two.source.logs[QUIET].values() == [b"a", b"b"]
        assert two.source.logs[BUSY].values() == [b"1", b"2"]
    finally:
        two.close()
