"""Metrics of two clusters: what is reported, and what a scrape does not wait for."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from replication.adapters.topics.anchor_reader import CopyState
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.state import AbsentTopic, Anchor, GroupPositions
from replication.supervision.lag import FlowLag, PartitionLag
from spark_jobs.metrics import metrics_collector
from spark_jobs.metrics.metrics_collector import FlowMetrics

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
ANCHOR = Anchor("A->B", *HERE, "A.t", 7, 7, at_ms=1)


class Silence(Exception):
    """A cluster does not answer yet."""


class Side:
    """A cluster that answers, refuses, or is silent."""

    def __init__(self, answer) -> None:
        self.answer, self.asked, self.silent = answer, 0, False

    def look(self):
        return self._answer()

    def end_offsets(self, about):
        return self._answer() if about else {}

    def cluster_id(self):
        return self._answer()

    def _answer(self):
        if self.silent:
            raise Silence
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Pool(Executor):
    """Runs work at once, so no test waits; work on a silent cluster stays open."""

    def __init__(self) -> None:
        self.open = []

    def submit(self, work):
        asked = Future()
        self.open.append((asked, work))
        self.retry()
        return asked

    def retry(self) -> None:
        """Run open work whose cluster answers by now."""
        self.open = [each for each in self.open if not self._does(*each)]

    def _does(self, asked, work) -> bool:
        try:
            asked.set_result(work())
        except Silence:
            return False
        except ClusterUnavailable as problem:
            asked.set_exception(problem)
        return True


class Clock:
    """Stands still but for ``pass_s``."""

    def __init__(self) -> None:
        self.ms = 1_000_000_000

    def pass_s(self, seconds) -> None:
        self.ms += int(seconds * 1000)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(metrics_collector, "now_ms", lambda: made.ms)
    return made


@pytest.fixture
def sides(monkeypatch):
    monkeypatch.setattr(metrics_collector, "PATIENCE_S", 0)  # enough for Pool
    monkeypatch.setattr(metrics_collector, "FRESH_S", -1.0)
    return Side(CopyState({HERE: ANCHOR})), Side({HERE: 9, THERE: 4})


@pytest.fixture
def pool():
    return Pool()


@pytest.fixture
def flow_metrics(sides, pool):
    target, source = sides
    return FlowMetrics("A->B", target, lambda: source, pool)


def test_lag_is_reported_of_anchors_and_ends(flow_metrics):
    found = flow_metrics.look([HERE, THERE])
    assert found.anchors == {HERE: ANCHOR}
    known, unknown = found.lag.partitions
    assert (known.partition, known.records) == (HERE, 2)
    assert unknown == PartitionLag(THERE, None, None)
    assert (found.source_answers, found.target_answers) == (True, True)


def test_a_target_that_is_silent_costs_neither_time_nor_what_was_known(
    flow_metrics, sides, pool, clock
):
    target, _ = sides
    flow_metrics.look([HERE])
    target.silent = True
    for lag_of in (2, 0):
        clock.pass_s(60)
        found = flow_metrics.look([HERE])
        assert found.source_answers
        assert (found.anchors, found.lag.records) == ({HERE: ANCHOR}, lag_of)
        assert len(pool.open) == 1, "one request is open, no more"
    assert not found.target_answers, "its last answer is two minutes old"
    assert found.lag == FlowLag(), "BL-229: what was copied since nobody knows"
    assert found.lag_ms == clock.ms - 60_000, "since then it is not known"
    target.silent = False
    pool.retry()
    assert flow_metrics.look([HERE]).target_answers


def test_what_a_failover_would_lose_is_as_of_the_ends_or_as_last_seen(flow_metrics, sides, clock):
    target, source = sides
    shop = GroupPositions("A->B", "shop", (("t", 0, 8),))
    target.answer = CopyState({HERE: replace(ANCHOR, source_end=8, at_ms=1)}, (), (shop,))
    live = flow_metrics.look([HERE]).point
    assert (live.records, live.groups[0].records, live.unknown_since_ms) == (2, 1, None)
    assert live.seen_ms == clock.ms
    source.answer = ClusterUnavailable("A is silent")
    silent = flow_metrics.look([HERE]).point
    assert (silent.records, silent.groups[0].records, silent.unknown_since_ms) == (1, 0, 1)
    gone = AbsentTopic("A->B", "t", "SOURCE_DELETED", "gone", 1)
    assert flow_metrics.look([], [gone]).point.partitions == ()


def test_a_target_that_has_never_answered_says_nothing_of_what_was_copied(
    flow_metrics, sides, pool
):
    target, _ = sides
    target.silent = True
    assert not flow_metrics.look([HERE]).is_known
    target.silent = False
    pool.retry()
    assert flow_metrics.look([HERE]).is_known
    target.silent = True
    assert flow_metrics.look([HERE]).is_known, "it answered before"


def test_an_answer_that_takes_a_moment_is_waited_for(sides, monkeypatch):
    monkeypatch.setattr(metrics_collector, "PATIENCE_S", 10)
    target, source = sides
    asked, may = threading.Event(), threading.Event()

    def answer():
        asked.set()
        assert may.wait(10)
        return source.answer

    monkeypatch.setattr(source, "_answer", answer)
    with ThreadPoolExecutor(3) as threads:
        looking = threads.submit(FlowMetrics("A->B", target, lambda: source, threads).look, [HERE])
        assert asked.wait(10)
        may.set()
        assert looking.result(20).lag.records == 2


def test_ends_that_came_while_nobody_waited_do_not_meet_newer_anchors(
    flow_metrics, sides, pool, clock
):
    """The flow copies 993 records between two looks, as many come: it is never at the end."""
    target, source = sides
    source.silent = True
    flow_metrics.look([HERE])
    source.silent, source.answer = False, {HERE: 1000}
    pool.retry()
    target.answer = CopyState({HERE: replace(ANCHOR, source=1000)})
    source.silent = True
    clock.pass_s(15)
    late = flow_metrics.look([HERE])
    assert late.anchors[HERE].source == 1000
    assert (late.lag.records, late.source_answers) == (993, True), "as it was at the look before"
    source.silent, source.answer = False, {HERE: 1992}
    pool.retry()
    assert flow_metrics.look([HERE]).lag.records == 992, (
        "it answers in time, the late answer is dropped"
    )


@pytest.mark.parametrize("times", [(5, 10), (15, 5), (15, 10), (60, 10)], ids=str)
def test_lag_of_a_source_that_is_always_late_is_reported_by_every_scrape(
    flow_metrics, sides, pool, clock, times
):
    _, source = sides
    every_s, takes_s = times
    source.silent, answers_ms, answered = True, 0, []
    for _ in range(12):
        if clock.ms >= answers_ms:
            source.silent = False
            pool.retry()
            source.silent = True
        answers_ms = answers_ms if pool.open else clock.ms + takes_s * 1000
        answered.append(flow_metrics.look([HERE]).source_answers)
        clock.pass_s(every_s)
    assert answered[:1] == [False]
    assert all(answered[answered.index(True) :])


def test_an_answer_of_long_ago_is_not_told_as_if_it_were_of_now(flow_metrics, sides, pool, clock):
    _, source = sides
    flow_metrics.look([HERE])
    source.silent = True
    clock.pass_s(3600)
    silent = flow_metrics.look([HERE])
    assert (silent.lag, silent.source_answers) == (FlowLag(), False)
    source.silent = False
    pool.retry()
    source.silent = True
    clock.pass_s(3600)
    late = flow_metrics.look([HERE])
    assert (late.lag, late.source_answers) == (FlowLag(), False), "it answered an hour ago"


def test_a_late_lag_is_as_old_as_it_was_when_the_source_was_asked(flow_metrics, sides, clock):
    target, source = sides
    anchor = replace(ANCHOR, at_ms=clock.ms - 4000)
    target.answer = CopyState({HERE: anchor})
    flow_metrics.look([HERE])
    source.silent = True
    clock.pass_s(30)
    assert flow_metrics.look([HERE]).lag.seconds == 4


def test_of_a_source_that_does_not_answer_no_lag_is_reported_and_the_reason_is_logged_once(
    flow_metrics, sides
):
    _, source = sides
    source.answer = ClusterUnavailable("asking for ends at A: refused")
    with capture_logs() as logs:
        found = [flow_metrics.look([HERE]) for _ in range(2)]
    assert [(each.lag, each.source_answers) for each in found] == [(FlowLag(), False)] * 2
    assert [each["reason"] for each in logs] == ["asking for ends at A: refused"]
    source.answer = {HERE: 7}
    assert flow_metrics.look([HERE]).lag.records == 0


def test_whoever_asks_again_at_once_gets_the_same_answer(flow_metrics, sides, monkeypatch):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 60.0)
    assert flow_metrics.look([HERE]) is flow_metrics.look([HERE])
    assert [each.asked for each in sides] == [1, 1]


def test_a_partition_that_was_silent_for_long_is_not_late_with_its_first_record(
    flow_metrics, sides, clock
):
    _, source = sides
    source.answer = {HERE: 7}
    assert flow_metrics.look([HERE]).lag.seconds == 0
    source.answer = {HERE: 8}
    clock.pass_s(3)
    assert flow_metrics.look([HERE]).lag.seconds == 3, "its anchor is from 1970"


def test_a_clock_that_is_set_back_makes_no_old_answer_young(
    flow_metrics, sides, clock, monkeypatch
):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 60.0)
    flow_metrics.look([HERE])
    clock.pass_s(-3600)
    flow_metrics.look([HERE])
    assert [each.asked for each in sides] == [2, 2]


def test_a_source_of_which_nothing_is_wanted_is_asked_all_the_same(flow_metrics, sides):
    _, source = sides
    source.answer = ClusterUnavailable("reading the cluster id at A: refused")
    found = flow_metrics.look([])
    assert (found.source_answers, source.asked) == (False, 1)
