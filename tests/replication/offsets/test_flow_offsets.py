"""Offsets of a flow, from its state records and both clusters."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fakes.log_cluster import LogCluster, topic_id
from support.records.copied_logs import OLDER, OURS, Copy, a_life

from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import NO_PRODUCER_ID, Mode, PartitionState, TopicPartition
from replication.offsets.flow_offsets import FlowOffsets
from replication.offsets.known_points import KnownPoints
from replication.offsets.offset_map import BEFORE_US, Answer
from replication.offsets.offset_points import OffsetPoints
from replication.provenance.origins import Origins, rule_text
from replication.records.batch import ABORT, COMMIT
from replication.state import Anchor, Loss, ProducerEntry

FLOW, TOPIC, COPIED = "A->B", "orders", "A.orders"
HERE = TopicPartition(TOPIC, 0)
LOCAL, FROM_C = 9, 30  # producer ids at the source


def a_copy(partition: int = 0, topic: str = TOPIC, **fields: object) -> Copy:
    """Return an empty copy of a partition; ``fields`` are its anchor's."""
    copy, there = Copy(), f"A.{topic}"
    ids = {"source_topic_id": topic_id(topic).hex(), "target_topic_id": topic_id(there).hex()}
    start = Anchor(FLOW, topic, partition, there, 0, 0, ((f"{FLOW}.0", OURS),), at_ms=1)
    copy.at = replace(start, **{"isolation": "read_committed", **ids, **fields})
    copy.offset_points = OffsetPoints.of(copy.at)
    return copy


def copied(count: int, partition: int = 0, **fields: object) -> Copy:
    """Return a copy of ``count`` records, whose anchor says so; others wrote one before them."""
    copy = a_copy(partition, **fields)
    copy.target.add([0])
    copy.write(count)
    copy.copy(count)
    copy.note()
    return copy


class Pair:
    """Both clusters of a flow with these copies, and what its units wrote of them."""

    def __init__(self, *copies: Copy) -> None:
        self.source, self.target = LogCluster("a"), LogCluster("b")
        self.known, self.origins = KnownPoints(FLOW), Origins()
        self.offsets = FlowOffsets(self.known, self.source, self.target, self.origins)
        self.known.learn([ProducerEntry(each, FLOW, "a", "") for each in (OURS, OLDER)])
        for each in copies:
            self.add(each)

    def add(self, copy: Copy) -> None:
        at = copy.at
        self.source.logs[TopicPartition(at.topic, at.partition)] = copy.source
        self.target.logs[TopicPartition(at.target_topic, at.partition)] = copy.target
        refused = [
            Loss(FLOW, at.topic, at.partition, at.source_topic_id, a, PartitionState.REFUSED, b)
            for a, b in copy.refused
        ]
        self.known.learn([*copy.points.values(), *refused, at])

    def answers(self, offsets, *, back=False, ahead=True):
        """Return the answers by partition."""
        return asyncio.run(self.offsets.translate(offsets, back=back, ahead=ahead))

    def ask(self, *offsets: int, back=False, ahead=True) -> dict[int, Answer]:
        """Return the answers for offsets of the one partition."""
        return self.answers({HERE: offsets}, back=back, ahead=ahead)[HERE]

    def places(self, *offsets: int, back=False, ahead=True) -> list[int | None]:
        """Return the translated offsets; all of them are exact."""
        found = self.ask(*offsets, back=back, ahead=ahead)
        assert all(each.exact for each in found.values()), found
        return [found[each].offset for each in offsets]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_every_offset_of_every_partition_lands_on_its_own_record_both_ways(seed):
    lives = [a_life(seed + number, 30, a_copy(number)) for number in range(2)]
    pair = Pair(*lives)
    partitions = {TopicPartition(TOPIC, number): copy for number, copy in enumerate(lives)}
    there = pair.answers({tp: range(c.source.end + 1) for tp, c in partitions.items()})
    back = pair.answers({tp: range(c.target.end + 1) for tp, c in partitions.items()}, back=True)
    for partition, copy in partitions.items():
        assert there[partition] == {
            each: Answer(copy.truth(each)) for each in range(copy.source.end + 1)
        }
        assert back[partition] == {
            each: Answer(copy.truth_back(each)) for each in range(copy.target.end + 1)
        }


def test_a_partition_of_which_nothing_is_copied_yet_is_left_out():
    pair = Pair(copied(3))
    claimed = TopicPartition(TOPIC, 1)
    pair.known.learn([Anchor(FLOW, *claimed, COPIED, None, None)])
    unknown = TopicPartition("nobody", 0)
    found = pair.answers({HERE: [2], claimed: [2], unknown: [2]})
    assert found == {HERE: {2: Answer(3)}}
    assert pair.offsets.errors == {}


def test_records_of_other_flows_change_nothing():
    """Two flows into one cluster share its registry, and flows of one source its state topics."""
    copy = copied(3)
    copy.target.add([4], LOCAL)
    copy.write(1)
    copy.copy(1)
    copy.note()
    pair = Pair(copy)
    before = pair.ask(*range(5))
    assert [each.offset for each in before.values()] == [1, 2, 3, 5, 6]
    point = next(iter(copy.points.values()))
    pair.known.learn(
        [
            replace(copy.at, flow="A->C", source=1, target=77),
            *(replace(point, flow="A->C", slot=n, source=2, target=2) for n in range(9)),
            Loss("A->C", *HERE, copy.at.source_topic_id, 1, PartitionState.REFUSED, 3),
            Loss("A->C", *HERE, copy.at.source_topic_id, 1, PartitionState.SOURCE_TRUNCATED),
            ProducerEntry(LOCAL, "C->B", "c", "isthmus.C->B.0"),
        ]
    )
    assert pair.ask(*range(5)) == before
    assert not any(pair.known.truncations.values())


def test_the_newest_anchor_and_the_newest_point_of_a_slot_hold():
    copy = copied(3)
    pair = Pair(copy)
    copy.write(2)
    assert pair.places(5, 4, ahead=False) == [None, None]
    copy.copy(2)
    copy.note()
    pair.add(copy)
    assert pair.places(5, 4, ahead=False) == [6, 5]
    assert {each.source for each in pair.known.points[HERE].values()} <= {0, 3, 5}


def test_a_refused_record_was_left_out_as_far_as_its_topic_is_the_same():
    copy = a_copy()
    copy.write(1)
    copy.refuse()
    copy.write(4, hole=1)  # so that the records are counted
    copy.copy(4)
    copy.note()
    pair = Pair(copy)
    expected = [copy.truth(each) for each in range(7)]
    assert expected == [0, 0, 0, 1, 2, 3, 4]
    assert pair.places(*range(7)) == expected
    former = Loss(FLOW, *HERE, "another", 2, PartitionState.REFUSED, 4)  # of a recreated topic
    other = Loss(FLOW, *HERE, copy.at.source_topic_id, 2, PartitionState.LOST_RANGE, 4)
    pair.known.learn([former, other])
    pair.offsets.stored.of(HERE, copy.at, 0).clear()
    assert pair.places(*range(7)) == expected


def test_records_of_an_appender_that_is_not_in_the_registry_are_ours_too():
    copy = a_copy(appenders=(("former", OLDER), ("x", OURS)))
    copy.take_over(OLDER)
    copy.write(2)
    copy.copy(2)
    copy.take_over(OURS)
    copy.write(2)
    copy.copy(2)
    copy.target.add(range(7, 9), LOCAL)
    copy.note()
    pair = Pair(copy)
    pair.known.producers.clear()
    assert pair.places(*range(5)) == [copy.truth(each) for each in range(5)]


def test_without_idempotence_records_without_a_producer_id_are_ours():
    copy = a_copy(appenders=(("", NO_PRODUCER_ID),))
    copy.me = NO_PRODUCER_ID
    copy.target.add([0], LOCAL)
    copy.write(4)
    copy.copy(2)
    copy.note()
    pair = Pair(copy)
    # The next one appends with a producer id: what stands before was appended without one.
    copy.at = replace(copy.at, appenders=(("x", OURS),))
    copy.take_over(OURS)
    copy.copy(2)
    copy.note()
    pair.add(copy)
    assert pair.places(*range(5)) == [1, 2, 4, 5, 6]


def test_a_transactional_id_does_not_make_records_without_a_producer_id_ours():
    copy = a_copy(appenders=(("not yet", NO_PRODUCER_ID), ("x", OURS)))
    pair = Pair(copy)
    pair.known.learn([replace(copy.at, appenders=(("", OURS),))])
    assert NO_PRODUCER_ID not in pair.known.producers


def test_a_broker_that_does_not_answer_blocks_its_own_partition_only():
    pair = Pair(copied(3), copied(3, 1), copied(3, 2))
    pair.source.broken[TopicPartition(TOPIC, 1)] = ClusterUnavailable("broker 4 does not answer")
    found = pair.answers({TopicPartition(TOPIC, each): [1] for each in range(3)})
    assert found == {HERE: {1: Answer(2)}, TopicPartition(TOPIC, 2): {1: Answer(2)}}
    assert repr(pair.offsets.errors) == repr(
        {TopicPartition(TOPIC, 1): ClusterUnavailable("broker 4 does not answer")}
    )


def test_a_fault_of_our_own_is_no_partition_without_an_answer():
    pair = Pair(copied(3))
    pair.target.broken[TopicPartition(COPIED, 0)] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        pair.answers({HERE: [3]})


@pytest.mark.parametrize(("side", "topic"), [("source", TOPIC), ("target", COPIED)])
def test_a_topic_that_may_not_be_described_is_named_and_no_answer_is_guessed(side, topic):
    pair = Pair(copied(3))
    getattr(pair, side).hidden.add(topic)
    assert pair.answers({HERE: [1]}) == {}
    denied = ClusterRejected(f"not authorized to describe topic {topic}")
    assert repr(pair.offsets.errors) == repr({HERE: denied})


@pytest.mark.parametrize(("side", "topic"), [("source", TOPIC), ("target", COPIED)])
def test_offsets_of_a_topic_that_was_recreated_are_not_translated(side, topic):
    pair, other = Pair(copied(3)), copied(3, 0, topic="payments")
    pair.add(other)
    getattr(pair, side).ids[topic] = b"another id......"
    payments = TopicPartition("payments", 0)
    found = pair.answers({HERE: [1, 2], payments: [1]})
    why = (
        f"cannot be translated: topic {topic} was deleted and recreated on the {side} since it was "
        "copied"
    )
    assert found[HERE] == dict.fromkeys((1, 2), Answer(None, exact=False, problem=why))
    assert found[payments] == {1: Answer(2)}
    assert pair.offsets.errors == {}


@pytest.mark.parametrize(("side", "topic"), [("source", TOPIC), ("target", COPIED)])
def test_offsets_of_a_topic_that_is_gone_are_not_translated(side, topic):
    pair = Pair(copied(3))
    getattr(pair, side).logs.clear()
    assert pair.ask(1)[1].problem == (
        f"cannot be translated: topic {topic} is not on the {side} any more"
    )


def test_offsets_of_a_transformed_topic_are_not_translated():
    pair = Pair(copied(3, transform="A->B.transform.orders/where"))
    (answer,) = pair.ask(1).values()
    assert (answer.offset, answer.exact) == (None, False)
    assert answer.problem.startswith("cannot be translated: ")
    assert "is transformed (A->B.transform.orders/where)" in answer.problem


def test_a_topic_whose_id_is_unknown_is_taken_for_the_same():
    pair = Pair(copied(3, source_topic_id="", target_topic_id=""))
    assert pair.places(1) == [2]


def test_offsets_from_before_the_takeover_are_unknown_on_either_side():
    copy = a_copy(since=(5, 2))
    copy.source.end = copy.source.first = 5
    copy.at = replace(copy.at, source=5, target=2)
    copy.target.add([0, 1], LOCAL)  # MirrorMaker's
    copy.offset_points = OffsetPoints.of(copy.at)
    copy.write(3)
    copy.copy(3)
    copy.note()
    pair = Pair(copy)
    assert pair.ask(0, 4, 5, 7) == {0: BEFORE_US, 4: BEFORE_US, 5: Answer(2), 7: Answer(4)}
    assert pair.ask(0, 1, 2, 4, back=True) == {
        0: BEFORE_US,
        1: BEFORE_US,
        2: Answer(5),
        4: Answer(7),
    }
    assert pair.ask(-1)[-1].problem == "is negative: offsets begin at 0"


def test_where_the_copy_was_renamed_an_offset_from_before_says_which_topic_has_it():
    copy = copied(3, since=(2, 2), former="east.orders")
    assert Pair(copy).ask(1)[1] == Answer(
        None,
        exact=False,
        problem="is from before orders was renamed on the target: east.orders has the records so "
        "far, A.orders the later ones",
    )


def test_copies_that_the_flow_passes_over_are_not_counted():
    """They are at the source, with a producer id of another flow, and not in the target's log."""
    copy = a_copy(origins=rule_text(()))
    for _ in range(3):
        copy.source.add(range(copy.source.end, copy.source.end + 2), FROM_C)
        copy.write(2)
        copy.copy(2)
        copy.note()
    pair = Pair(copy)
    pair.origins.learn([ProducerEntry(FROM_C, "B->A", "b", "isthmus.B->A.0")])
    assert pair.places(*range(13)) == [copy.truth(each) for each in range(13)]


def test_copies_that_the_flow_passes_on_are_counted():
    copy = a_copy(origins=rule_text(()))
    copy.source.add([0, 1], FROM_C)
    copy.deliverable += [0, 1]
    copy.write(2, hole=1)
    copy.target.add([0], LOCAL)
    copy.copy(4)
    copy.note()
    pair = Pair(copy)
    pair.origins.learn([ProducerEntry(FROM_C, "C->A", "c", "isthmus.C->A.0")])
    assert pair.places(*range(6)) == [1, 2, 3, 3, 4, 5]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_records_of_aborted_transactions_count_where_they_are_copied(isolation):
    copy = a_copy(isolation=isolation)
    copy.write(1)
    copy.transact(2, COMMIT)
    copy.transact(3, ABORT)
    if isolation == "read_uncommitted":
        copy.deliverable += range(4, 7)
    copy.write(2)
    copy.copy(20)
    copy.note()
    offsets = range(copy.source.end + 1)
    assert Pair(copy).places(*offsets) == [copy.truth(each) for each in offsets]


def test_what_the_source_has_lost_is_not_translated_and_no_stored_answer_outlives_it():
    copy = copied(4, source_epoch=5)
    copy.write(4)
    copy.target.add([5], LOCAL)
    copy.copy(4)
    copy.note()
    copy.write(1)
    copy.copy(1)
    copy.note()
    pair = Pair(copy)
    assert pair.places(3, 6) == [4, 8]
    copy.source.truncate(4)
    truncated = Loss(
        FLOW, *HERE, copy.at.source_topic_id, 4, PartitionState.SOURCE_TRUNCATED, 4, at_ms=7
    )
    pair.known.learn([truncated])
    copy.at = replace(copy.at, state=PartitionState.SOURCE_TRUNCATED)
    pair.add(copy)
    found = pair.ask(3, 4, 6, 9)
    assert found[3] == Answer(4)
    assert found[4] == Answer(None)
    assert found[6].problem == found[9].problem.replace("9", "6")
    assert "is beyond the end of the source (4)" in found[6].problem
    copy.source.end = 9  # others came there since
    pair.source.diverging[HERE] = 4, 4
    back = pair.ask(4, 8, back=True)
    assert back[4] == Answer(3)
    assert "the source no longer has" in back[8].problem


def test_what_is_copied_in_the_place_of_lost_records_gets_answers_of_its_own():
    one, other = copied(4, 0), copied(4, 1)
    one.target.add([5], LOCAL)
    one.write(4)
    one.copy(4)
    one.note()
    pair = Pair(one, other)
    assert pair.places(3, 5) == [4, 7]
    one.source.truncate(4)
    del one.deliverable[4:], one.pairs[4:]
    one.done, one.at = 4, replace(one.at, source=4)
    one.note()
    one.write(3)
    one.copy(3)
    one.note()
    pair.known.learn(
        [Loss(FLOW, *HERE, one.at.source_topic_id, 4, PartitionState.SOURCE_TRUNCATED, at_ms=7)]
    )
    pair.add(one)
    assert pair.places(3, 5, 7) == [4, 11, 13]


def test_losses_are_those_of_their_partition():
    copies = [a_copy(number) for number in range(3)]
    for copy in copies:
        copy.write(1)
        if copy.at.partition == 1:
            copy.refuse()
        copy.write(2)
        copy.copy(3)
        copy.note()
    found = Pair(*copies).answers({TopicPartition(TOPIC, each): [2] for each in range(3)})
    assert [each[2].offset for each in found.values()] == [2, 1, 2]


def test_where_the_source_has_other_records_now_its_epochs_say_from_where_on():
    copy = copied(6, source_epoch=5)
    copy.at = replace(copy.at, state=PartitionState.SOURCE_TRUNCATED)
    pair = Pair(copy)
    pair.source.diverging[HERE] = 4, 2  # the log has its end, and other records from 2 on
    assert [each.offset for each in pair.ask(0, 1, 2, 5, 6).values()] == [
        0 + 1,
        2,
        None,
        None,
        None,
    ]
    copy.at = replace(copy.at, state=PartitionState.RUNNING)
    pair.add(copy)
    assert pair.places(2, 6) == [3, 7]


def test_a_truncated_partition_whose_leader_is_unknown_has_an_error():
    copy = copied(3)
    copy.at = replace(copy.at, state=PartitionState.SOURCE_TRUNCATED)
    pair = Pair(copy)
    pair.source.leaderless.add(HERE)
    assert pair.answers({HERE: [1]}) == {}
    leaderless = ClusterUnavailable("reading orders-0: it has no leader")
    assert repr(pair.offsets.errors) == repr({HERE: leaderless})


def test_copies_behind_the_last_anchor_count_only_if_asked():
    copy = copied(3)
    copy.write(2)
    copy.target.add([4], OURS)  # acked, and no anchor says so yet
    pair = Pair(copy)
    assert pair.places(3, 4, 5) == [4, 5, None]
    assert pair.places(3, 4, 5, ahead=False) == [4, None, None]


def test_many_partitions_are_read_some_at_a_time_and_all_are_answered():
    pair = Pair()
    for number in range(40):
        copy = copied(3, number)
        copy.write(2)
        copy.target.add([4, 5], OURS)
        pair.add(copy)
    required = {TopicPartition(TOPIC, each): [4] for each in range(40)}
    assert pair.answers(required) == {each: {4: Answer(5)} for each in required}
    assert 1 < max(pair.source.most_fetches, pair.target.most_fetches) <= 16


def test_answers_are_stored_for_the_next_time():
    copy = a_life(random.Random(5).randrange(1000), 40, a_copy())
    copy.note()
    pair = Pair(copy)
    offsets = range(0, copy.at.source or 0, 3)
    first = pair.ask(*offsets)
    read = copy.source.fetched + copy.target.fetched
    assert read > 0
    assert pair.ask(*offsets) == first
    assert copy.source.fetched + copy.target.fetched == read


def test_the_partitions_of_a_topic_are_found_on_either_side():
    known = KnownPoints(FLOW)
    for partition in (2, 0, 1):
        known.learn([Anchor(FLOW, "orders", partition, "A.orders", 0, 0)])
    known.learn([Anchor(FLOW, "A.orders", 5, "A.A.orders", 0, 0)])
    assert known.partitions_of("orders", target=False) == [0, 1, 2]
    assert known.partitions_of("A.orders", target=True) == [0, 1, 2]
    assert known.partitions_of("A.orders", target=False) == [5]
    assert known.source_of(TopicPartition("A.orders", 1)) == TopicPartition("orders", 1)
    assert known.source_of(TopicPartition("A.A.orders", 5)) == TopicPartition("A.orders", 5)
    assert known.source_of(TopicPartition("orders", 1)) is None
    assert known.source_of(TopicPartition("A.orders", 9)) is None


def test_an_anchor_of_a_copy_that_was_made_in_transactions_is_read_as_such():
    copy = copied(3, mode=Mode.TRANSACTIONAL)
    copy.target.mark(OURS, COMMIT)
    copy.write(2)
    copy.copy(2)
    copy.note()
    assert Pair(copy).places(*range(6)) == [copy.truth(each) for each in range(6)]
