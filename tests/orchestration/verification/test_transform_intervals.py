"""Which results of a transform are compared together: those between two points, and no others."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.verification.partition_plan import Selected
from orchestration.verification.transform_plan import TransformToVerify, plan_transform
from replication.model import OffsetRange, TopicPartition
from replication.records.compare_compacted import Compacted
from replication.settings.transform_settings import TopicTransform
from replication.state import Anchor, TransformPoint, TransformStart, TransformVerified
from spark_jobs.transform.point_record import point_now
from spark_jobs.transform.start_record import start_now, with_more

PLAIN = Compacted(source=False, target=False)
ROUTED = TopicTransform("t", route_topics=("routed",))
MINUTE_MS = 60_000


@dataclass
class Engine:
    """A transform that writes each record's results to some target partitions, batch by batch."""

    chance: random.Random
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)
    logs: dict[TopicPartition, list[tuple[TopicPartition, int] | None]] = field(
        default_factory=lambda: defaultdict(list)
    )
    start: TransformStart | None = None
    points: dict[int, TransformPoint] = field(default_factory=dict)
    last: TransformPoint | None = None
    now_ms: int = 1_000

    def begin(self, partitions: int, *, routed: bool) -> None:
        """Begin with more partitions of the source, or with a topic that came to the target."""
        for number in range(len(self.anchors), partitions):
            where = TopicPartition("t", number)
            self.anchors[where] = replace(
                Anchor("A->B", *where, "A.t", self.chance.randrange(50), None), state="RUNNING"
            )
        now = start_now("A->B", 0, "d", self.anchors.values())
        start = now if self.start is None else with_more(self.start, now)
        targets = dict(start.targets)
        for topic in ("A.t", "routed") if routed else ("A.t",):
            ends = [len(self.logs[TopicPartition(topic, n)]) for n in range(2)]
            targets.setdefault(topic, ends)
        self.start = replace(start, targets=targets, began_ms=start.began_ms or self.now_ms)

    def batch(self) -> None:
        """Move some partitions on, all within one batch, in any order on the target."""
        made = []
        for where in self.anchors:
            anchor = self.anchors[where]
            end = anchor.source + self.chance.randrange(4)
            made.append([(where, offset) for offset in range(anchor.source, end)])
            self.anchors[where] = replace(anchor, source=end)
        self.chance.shuffle(made)
        for topic in self.start.targets:
            for listed in made:
                for each in listed:
                    log = self.logs[TopicPartition(topic, self.chance.randrange(2))]
                    log += [each] * self.chance.randrange(3)
                    log += [None] * self.chance.randrange(2)  # markers, and what others write

    def note(self) -> None:
        point = point_now(self.start, self.anchors, self.last, self.now_ms)
        if point is not None:
            targets = {
                topic: [len(self.logs[TopicPartition(topic, n)]) for n in range(2)]
                for topic in self.start.targets
            }
            self.last = self.points[point.slot] = replace(point, targets=targets)
        self.now_ms += self.chance.choice([1, MINUTE_MS, 7 * MINUTE_MS])

    def known(self, verified: TransformVerified | None = None) -> TransformToVerify:
        ends = {each: anchor.source for each, anchor in self.anchors.items()}
        whole = {each: OffsetRange(0, end) for each, end in ends.items()}
        there = {
            each: OffsetRange(0, len(self.logs[each]))
            for topic in self.start.targets
            for each in (TopicPartition(topic, 0), TopicPartition(topic, 1))
        }
        return TransformToVerify(
            0, ROUTED, [TopicPair("t", "A.t", PLAIN)], self.start, {}, {},
            self.anchors, self.anchors, whole, ends, there, [1], ("", ""),
            points=[*self.points.values()], verified=verified,
        )  # fmt: skip

    def results(self, begin: TransformStart | TransformVerified) -> set:
        """Return what stands behind a place: the log's offsets."""
        return {
            (where, offset)
            for where, log in self.logs.items()
            for offset in range(
                (begin.targets.get(where.topic) or (0, 0))[where.partition], len(log)
            )
            if log[offset] is not None
        }


def ran(seed: int) -> Engine:
    chance = random.Random(seed)
    engine = Engine(chance)
    engine.logs[TopicPartition("A.t", 0)] += [None] * 3
    engine.begin(1, routed=False)
    for step in range(chance.randrange(1, 40)):
        if step in {5, 11}:
            engine.begin(chance.randrange(1, 4), routed=chance.random() < 0.5)
        engine.batch()
        engine.note()
    if chance.random() < 0.8:
        engine.batch()  # behind the newest point
    return engine


def compared(engine: Engine, plan) -> set:
    """Return the results that are compared; each interval has those of what it reads alone."""
    found = set()
    for spans in plan.spans:
        read = {
            (each.source, offset)
            for each in spans.read
            for offset in range(each.begin, each.required)
        }
        for each in spans.written:
            for offset in range(each.begin, each.end):
                result = engine.logs[each.target][offset]
                if result is not None:
                    assert result in read
                    assert (each.target, offset) not in found
                    found.add((each.target, offset))
        expected = [
            (where, offset)
            for where, log in engine.logs.items()
            for offset, each in enumerate(log)
            if each in read
        ]
        assert found.issuperset(expected)
    return found


def reached(plan) -> TransformVerified | None:
    point = plan.reach
    if point is None:
        return None
    return TransformVerified("A->B", 0, point.era, point.sources, point.targets, 7)


@given(st.integers(0, 1 << 20))
def test_a_run_compares_all_behind_what_was_verified_and_the_first_one_everything(seed):
    engine = ran(seed)
    plan = plan_transform(engine.known())
    assert not plan.continues
    assert compared(engine, plan) == engine.results(engine.start)
    verified = reached(plan)
    for _ in range(3):
        engine.batch()
        engine.note()
    plan = plan_transform(engine.known(verified))
    assert plan.continues == (verified is not None)
    assert compared(engine, plan) == engine.results(verified or engine.start)
    whole = plan_transform(engine.known(verified), Selected(full=True))
    assert compared(engine, whole) == engine.results(engine.start)


@given(st.integers(0, 1 << 20), st.floats(0.01, 0.99), st.booleans())
def test_a_sample_is_of_whole_intervals_between_points_behind_what_was_verified(seed, share, full):
    engine = ran(seed)
    verified = reached(plan_transform(engine.known()))
    for _ in range(9):
        engine.batch()
        engine.note()
    plan = plan_transform(engine.known(verified), Selected(sample=share, seed=seed, full=full))
    found = compared(engine, plan)
    begin = engine.start if full or verified is None else verified
    moved = (begin.sources["t"][e.partition] < a.source for e, a in engine.anchors.items())
    assert bool(plan.spans) == any(moved)
    assert found <= engine.results(begin)


def test_intervals_that_follow_on_are_compared_together_and_others_apart():
    engine = ran(4)
    places = [10 * n for n in range(7)]
    start = replace(engine.start, sources={"t": [0]}, targets={"A.t": [0]})
    where, copy = TopicPartition("t", 0), TopicPartition("A.t", 0)
    known = replace(
        engine.known(),
        start=start,
        anchors={where: replace(engine.anchors[where], source=70)},
        starts={where: OffsetRange(0, 70)},
        there={copy: OffsetRange(0, 70)},
        points=[
            TransformPoint("A->B", 0, n, 1_000, n, {"t": [at]}, {"A.t": [at]})
            for n, at in enumerate(places)
        ],
    )
    seen = set()
    for seed in range(40):
        plan = plan_transform(known, Selected(sample=0.5, seed=seed))
        spans = [(each.read[0].begin, each.read[0].end) for each in plan.spans]
        assert spans == [(e.written[0].begin, e.written[0].end) for e in plan.spans]
        assert sum(end - begin for begin, end in spans) == 70 - 10 * plan.skipped
        seen.add(len(spans))
    assert seen >= {1, 2, 3}


@given(st.integers(0, 1 << 20), st.integers(0, 120), st.integers(0, 120))
def test_the_intervals_of_a_time_have_all_results_of_its_records(seed, since, until):
    engine = ran(seed)
    times = (dict.fromkeys(engine.anchors, since), dict.fromkeys(engine.anchors, until))
    known = replace(engine.known(), times=times)
    plan = plan_transform(known, Selected(since_ms=1, until_ms=2))
    found = compared(engine, plan)
    begun = engine.results(engine.start)
    meant = {each for each in begun if since <= engine.logs[each[0]][each[1]][1] < until}
    assert meant <= found
    if since >= until:
        assert not plan.spans


def test_what_was_verified_of_an_earlier_start_does_not_count_and_this_is_said():
    engine = ran(4)
    verified = TransformVerified("A->B", 0, 999, {"t": [10_000]}, {"A.t": [10_000, 10_000]}, 7)
    former = [replace(each, era=999) for each in engine.points.values()]
    known = replace(engine.known(verified), points=former)
    plan = plan_transform(known)
    assert not plan.continues
    assert plan.reach is None
    assert "after the last good verification" in plan.remark
    assert compared(engine, plan) == engine.results(engine.start)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_point_that_is_newer_than_what_is_compared_is_not_noted(side):
    engine = ran(4)
    known = engine.known()
    newest = plan_transform(known).reach
    if side == "source":
        before = newest.sources["t"]
        anchors = {e: replace(a, source=before[e.partition] - 1) for e, a in known.anchors.items()}
        known = replace(known, anchors=anchors)
    else:
        there = {e: OffsetRange(0, 4) for e in known.there}
        known = replace(known, there=there)
    older = plan_transform(known).reach
    assert newest is not None
    assert older is None or sum(older.sources["t"]) < sum(newest.sources["t"])
