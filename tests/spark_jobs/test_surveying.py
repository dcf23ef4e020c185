"""A look at two clusters for metrics: what it tells, and what it does not wait for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import capture_logs

from replication.errors import ClusterUnavailable
from replication.lag import FlowLag, PartitionLag
from replication.model import TopicPartition
from replication.state import Anchor
from spark_jobs import surveying
from spark_jobs.surveying import Survey

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)
ANCHOR = Anchor("A->B", *HERE, "A.t", 7, 7, at_ms=1)


class Side:
    """A cluster that answers, refuses, or answers when it may."""

    def __init__(self, answer) -> None:
        self.answer, self.asked = answer, 0
        self.may = threading.Event()
        self.may.set()

    def look(self):
        return self._tell()

    def end_offsets(self, about):
        return self._tell() if about else {}

    def cluster_id(self):
        return self._tell()

    def _tell(self):
        self.asked += 1
        self.may.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def sides(monkeypatch):
    monkeypatch.setattr(surveying, "PATIENCE_S", 0.05)
    monkeypatch.setattr(surveying, "FRESH_S", -1.0)
    made = Side(({HERE: ANCHOR}, ())), Side({HERE: 9, THERE: 4})
    yield made
    for each in made:
        each.may.set()


@pytest.fixture
def survey(sides):
    target, source = sides
    with ThreadPoolExecutor(2) as pool:
        yield Survey("A->B", target, lambda: source, pool)
        target.may.set()
        source.may.set()


def test_lag_is_told_of_anchors_and_ends(survey):
    found = survey.look([HERE, THERE])
    assert found.anchors == {HERE: ANCHOR}
    known, unknown = found.lag.partitions
    assert (known.partition, known.records) == (HERE, 2)
    assert unknown == PartitionLag(THERE, None, None)
    assert (found.source_answers, found.target_answers) == (True, True)


def test_a_target_that_is_silent_costs_neither_time_nor_what_was_known(survey, sides):
    target, _ = sides
    survey.look([HERE])
    target.may.clear()
    for _ in range(2):
        found = survey.look([HERE])
        assert (found.target_answers, found.source_answers) == (False, True)
        assert found.lag.records == 2
    assert target.asked == 2, "one question is open, no more"
    target.may.set()
    assert survey.look([HERE]).target_answers


def test_a_target_that_has_never_answered_says_nothing_of_what_was_copied(survey, sides):
    target, _ = sides
    target.may.clear()
    assert not survey.look([HERE]).is_known
    target.may.set()
    assert survey.look([HERE]).is_known
    target.may.clear()
    assert survey.look([HERE]).is_known, "it was heard before"


def test_of_a_source_that_does_not_answer_no_lag_is_told_and_the_reason_is_logged_once(
    survey, sides
):
    _, source = sides
    source.answer = ClusterUnavailable("asking for ends at A: refused")
    with capture_logs() as logs:
        found = [survey.look([HERE]) for _ in range(2)]
    assert [(each.lag, each.source_answers) for each in found] == [(FlowLag(), False)] * 2
    assert [each["reason"] for each in logs] == ["asking for ends at A: refused"]
    source.answer = {HERE: 7}
    assert survey.look([HERE]).lag.records == 0


def test_whoever_asks_again_at_once_gets_the_same_answer(survey, sides, monkeypatch):
    monkeypatch.setattr(surveying, "FRESH_S", 60.0)
    assert survey.look([HERE]) is survey.look([HERE])
    assert [each.asked for each in sides] == [1, 1]


def test_a_partition_that_was_silent_for_long_is_not_late_with_its_first_record(survey, sides):
    _, source = sides
    source.answer = {HERE: 7}
    assert survey.look([HERE]).lag.seconds == 0
    source.answer = {HERE: 8}
    assert survey.look([HERE]).lag.seconds < 5, "its anchor is from 1970"


def test_a_source_of_which_nothing_is_wanted_is_asked_all_the_same(survey, sides):
    _, source = sides
    source.answer = ClusterUnavailable("asking for the cluster id at A: refused")
    found = survey.look([])
    assert (found.source_answers, source.asked) == (False, 1)
