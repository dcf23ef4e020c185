"""Where both flows begin in a topic that is created anew on the source."""

from __future__ import annotations

import pytest

from replication.model import NO_LEADER_EPOCH, OffsetRange
from replication.offsets.offset_map import NOT_YET, Answer, has_lost_first, sync_points_of
from replication.recovery.refilled_topic import (
    RecreatedTopicIds,
    cut_tail,
    homeward,
    only_at_source,
    outward,
    whole_rule,
)
from replication.state import TAIL_CUT, Anchor, DivergedTail, ProvenPosition

OUT = Anchor(
    "A->B", "t", 0, "t", 20, 50, (("x", 9),), records=20, lost=1, source_topic_id="old",
    target_topic_id="copy", run=(5, 9, 20, 50, 20), origins="producer-id", source_epoch=4,
)  # fmt: skip
AT = ProvenPosition("A->B", "op1", "t", 0, "t", source=23, target=57)
TAIL = DivergedTail("A->B", "op2", "t", 0, first=23, end=40, records=13)
IDS = RecreatedTopicIds("new", "copy")


def test_the_flow_begins_at_the_first_record_behind_all_that_it_has_appended():
    points, begin = outward(OUT, AT, TAIL, ("new", 7))
    assert (begin.source, begin.target, begin.own_from) == (0, 57, 57)
    assert (begin.records, begin.lost) == (23, 14)
    assert (begin.source_topic_id, begin.source_epoch) == ("new", NO_LEADER_EPOCH)
    assert (begin.appenders, begin.clean) == (OUT.appenders, False)  # they are fenced yet
    assert not has_lost_first(points, begin)
    assert next((e.source, e.target) for e in sync_points_of(points, begin)) == (0, 57)


@pytest.mark.parametrize("known", [None, 5])
def test_the_flow_back_begins_with_the_first_record_that_the_copy_still_has(known):
    run = None if known is None else (5, 9, 70, 60, 30)
    before = Anchor("B->A", "t", 0, "t", known, known, (("y", 3),), clean=True, run=run,
                    since=(1, 1), former="u", target_topic_id="old")  # fmt: skip
    rule = whole_rule("producer-id -C", AT)
    points, begin = homeward(before, 12, IDS, rule)
    assert (begin.source, begin.target, begin.appenders, begin.clean) == (12, 0, (), True)
    assert (begin.source_topic_id, begin.target_topic_id) == ("copy", "new")
    assert (begin.since, begin.former) == (None, "")
    assert begin.origins == "producer-id -C <57"
    assert not has_lost_first(points, begin)


def test_the_flow_leaves_behind_which_copies_once_filled_its_former_topic():
    filled = homeward(OUT, 0, IDS, whole_rule("producer-id", AT)).anchor
    assert outward(filled, AT, TAIL, ("new", 7)).anchor.origins == "producer-id"


def test_what_was_never_copied_to_the_target_has_no_copies_to_be_brought_home():
    assert whole_rule("producer-id", None) == "producer-id"


def test_a_cut_tail_stays_listed():
    loss = cut_tail(TAIL, "old", "/export", 9)
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (23, 40, TAIL_CUT, "old")
    assert "/export" in loss.reason


@pytest.mark.parametrize(
    ("first", "left_out", "expected"),
    [
        (Answer(10), (), []),
        (Answer(30), (), [(10, 30)]),
        (Answer(30), ((5, 12), (28, 40), (60, 200)), [(10, 30), (30, 40), (60, 90)]),
        (Answer(30, exact=False), (), [(10, 70)]),
        (NOT_YET, (), [(10, 70)]),
        (None, (), [(10, 70)]),
    ],
)
def test_records_that_the_source_alone_has_are_those_before_its_copy_and_those_left_out(
    first, left_out, expected
):
    ranges = [OffsetRange(*each) for each in left_out]
    assert only_at_source(OffsetRange(10, 90), first, ranges, 70) == expected
