"""Ranges planned from a copy's points hold the same records, whatever happened to the copy."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes.log_cluster import LogCluster
from support.records.copied_logs import HERE, OLDER, OURS, Log, a_batch, a_life

from replication.model import OffsetRange
from replication.offsets.offset_map import SyncPoint, sync_points_of
from replication.provenance.producer_registry import SourceRegistry
from replication.provenance.routes import Routes
from replication.records.batch_comparison import OffsetPair
from replication.state import ProducerEntry
from replication.verification.range_check import CheckedCluster, RangeCheck
from replication.verification.range_plan import plan_paired_ranges
from replication.verification.ranges import RangeResult, VerifiedRange

FORWARDED = 70  # appended on the source by the flow back


def a_check(copy):
    clusters = []
    for name, log in (("a", copy.source), ("b", copy.target)):
        network = LogCluster(name)
        network.logs[HERE] = log
        clusters.append(CheckedCluster(network, _Known(network)))
    return RangeCheck("f", Routes({}, {}), *clusters)


class _Known(SourceRegistry):
    """A registry that was read."""

    async def read(self):
        self.origins.learn(
            ProducerEntry(each, "f", "a", f"isthmus.f.{each}") for each in (OURS, OLDER)
        )
        self.origins.learn([ProducerEntry(FORWARDED, "back", "b", "isthmus.back.0")])


def ranges_of(copy, most):
    points = sync_points_of(copy.points.values(), copy.at)
    ranges = plan_paired_ranges(OffsetPair(0, 0), points, most)
    return [
        VerifiedRange(number, HERE, HERE, each.here, each.there, own=True,
                      left_out=tuple(copy.refused))
        for number, each in enumerate(ranges)
    ]  # fmt: skip


def checked(copy, most):
    async def run():
        check = a_check(copy)
        return [await check.check(each) for each in ranges_of(copy, most)]

    return asyncio.run(run())


@pytest.mark.parametrize("most", [1, 5, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_every_range_of_an_exact_copy_is_equal_and_they_cover_all_of_it(seed, most):
    copy = a_life(seed)
    ranges = ranges_of(copy, most)
    for one, two in pairwise(ranges):
        assert (one.here.end, one.there.end) == (two.here.start, two.there.start)
    if ranges:
        assert (ranges[0].here.start, ranges[0].there.start) == (0, 0)
        assert (ranges[-1].here.end, ranges[-1].there.end) == (copy.at.source, copy.at.target)
    found = checked(copy, most)
    assert [each.number for each in found if not each.equal] == []
    assert sum(each.records for each in found) == copy.at.records


@pytest.mark.parametrize("seed", range(12))
def test_a_record_of_ours_that_is_not_in_the_source_makes_one_range_differ(seed):
    copy = a_life(seed)
    ours = [
        at for at, (_, _, batch) in enumerate(copy.target.batches)
        if int.from_bytes(batch[43:51], "big") in {OURS, OLDER} and batch[22] & 0x20 == 0
    ]  # fmt: skip
    first, last, _ = copy.target.batches[ours[len(ours) // 2]]
    held = dict.fromkeys(range(first, last + 1), (b"k", b"other"))
    copy.target.batches[ours[len(ours) // 2]] = first, last, a_batch(held, OURS)
    assert any(not each.equal for each in checked(copy, 5))


@pytest.mark.parametrize(("origins", "equal"), [("producer-id <4", True), ("producer-id", False)])
def test_copies_that_filled_a_topic_anew_are_compared_with_what_they_were_copied_from(
    origins, equal
):
    """Where the anchor's rule says so: its offsets are in no file."""
    source, target = Log(), Log()
    source.add(range(4), FORWARDED)
    source.add(range(4, 6))
    source.add(range(6, 8), FORWARDED)
    target.add(range(6), OURS)
    copied = {"own": True, "origins": origins}
    whole = VerifiedRange(0, HERE, HERE, OffsetRange(0, 8), OffsetRange(0, 6), **copied)
    check = replace(a_check(SimpleNamespace(source=source, target=target)), routes=ById())
    assert asyncio.run(check.check(whole)).equal is equal


class ById:
    """Routes by which no copy comes home."""

    def rule(self, _flow, _topic):
        return "producer-id"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=12), st.integers(1, 30))
def test_ranges_have_no_gap_and_large_straight_ones_are_cut(steps, most):
    at, listed = SyncPoint(0, 0, 0, "append", "", ""), []
    for records, markers in steps:
        here, there = at.source + records, at.target + records + markers
        at = SyncPoint(here, there, at.records + records, "append", "", "")
        listed.append(at)
    found = plan_paired_ranges(OffsetPair(0, 0), listed, most)
    for one, two in pairwise(found):
        assert (one.here.end, one.there.end) == (two.here.start, two.there.start)
    if listed and (at.source or at.target):
        assert (found[-1].here.end, found[-1].there.end) == (at.source, at.target)
    largest = max((each.here.end - each.here.start for each in found), default=0)
    assert largest <= max(most, 50)


def test_ranges_and_results_survive_json():
    checked = VerifiedRange(3, HERE, HERE, OffsetRange(1, 5), OffsetRange(2, 6),
                            left_out=(OffsetRange(3, 4),))  # fmt: skip
    assert VerifiedRange.of_json(checked.as_json()) == checked
    result = RangeResult(3, False, 7, 99, 1.5, 0.5, (1, 2, 3), "damaged")  # noqa: FBT003
    assert RangeResult.of_json({**result.as_json(), "more": 1}) == result
