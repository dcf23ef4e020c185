"""Offset syncs: MirrorMaker 2 must translate offsets correctly with each pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.mm2.compacted_topic import CompactedTopic
from replication.mm2.syncs import Emitter, pair_of
from replication.mm2.wire import OffsetSync
from replication.state import Anchor


def anchor(source: int | None, target: int | None, records: int, partition: int = 0) -> Anchor:
    return Anchor("A->B", "orders", partition, "A.orders", source, target, records=records)


def on_run(now: Anchor, source: int, target: int, records: int) -> Anchor:
    return replace(now, run=(1, 1, source, target, records))


def test_what_was_counted_in_a_takeover_ends_before_our_marker_and_makes_no_pair():
    before, now = anchor(100, 100, 100), replace(anchor(150, 151, 150), epoch=1)
    assert pair_of(before, now) is None
    assert pair_of(now, replace(now, source=151, target=152, records=151)).downstream == 151


def test_all_that_a_new_producer_copied_before_its_next_anchor_makes_a_pair():
    """Copied in one go behind the marker, and nothing more comes: no later anchor says it."""
    before, now = anchor(100, 100, 100), replace(anchor(150, 151, 150), epoch=1)
    assert pair_of(before, on_run(now, 100, 101, 100)) == OffsetSync("orders", 0, 149, 150)


@pytest.mark.parametrize(
    ("before", "now", "pair"),
    [
        pytest.param(anchor(0, 0, 0), anchor(5, 5, 5), (4, 4), id="the last record and its copy"),
        pytest.param(anchor(5, 5, 5), anchor(9, 7, 7), (8, 6), id="behind a gap"),
        pytest.param(None, anchor(5, 5, 5), None, id="where it began is not known"),
        pytest.param(None, on_run(anchor(9, 7, 7), 5, 3, 3), (8, 6), id="on the run that it names"),
        pytest.param(None, on_run(anchor(9, 7, 7), 9, 7, 7), None, id="where its run begins"),
        pytest.param(None, on_run(anchor(9, 8, 7), 5, 3, 3), None, id="a marker behind its run"),
        pytest.param(None, on_run(anchor(9, 7, 6), 5, 3, 3), None, id="others' record on its run"),
        pytest.param(anchor(5, 5, 5), anchor(5, 7, 5), None, id="a marker of ours"),
        pytest.param(anchor(5, 5, 5), anchor(9, 5, 5), None, id="a jump over what is lost"),
        pytest.param(anchor(5, 5, 5), anchor(None, None, 6), None, id="no position"),
    ],
)
def test_a_pair_is_a_record_and_its_copy_or_there_is_none(before, now, pair):
    expected = None if pair is None else OffsetSync("orders", 0, *pair)
    assert pair_of(before, now) == expected


class Cluster:
    def __init__(self) -> None:
        self.written = []

    def ensure(self, name, replication_factor): ...

    def write(self, topic, entries):
        self.written += [OffsetSync.parse(each.key, each.value) for each in entries]


def test_st_07_only_the_newest_pair_of_a_partition_is_written():
    looks = iter(
        [
            [anchor(0, 0, 0), anchor(0, 0, 0, 1)],
            [anchor(5, 5, 5), anchor(9, 9, 9), anchor(2, 2, 2, 1)],
            [],
        ]
    )
    cluster = Cluster()
    emitter = Emitter(
        CompactedTopic("mm2-offset-syncs.B.internal", 1, lambda: cluster), lambda: next(looks)
    )
    for _ in range(3):
        emitter.emit()
    assert cluster.written == [OffsetSync("orders", 0, 8, 8), OffsetSync("orders", 1, 1, 1)]


def test_a_transformed_topic_has_no_pairs():
    changed = [replace(each, transform="where") for each in (anchor(0, 0, 0), anchor(5, 5, 5))]
    assert pair_of(*changed) is None
    assert pair_of(anchor(0, 0, 0), anchor(5, 5, 5)) is not None
