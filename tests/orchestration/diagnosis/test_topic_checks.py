"""What a diagnosis says of topics and their copies: sizes, timestamps, retention."""

from __future__ import annotations

import pytest

from orchestration.diagnosis.finding import FindingLevel
from orchestration.diagnosis.topic_checks import (
    AFTER,
    BEFORE,
    SIZE,
    TYPE,
    CopiedTopic,
    judge_topics,
)

NOW = 1_700_000_000_000
DAY = 86_400_000


def judged(source=None, target=None, **more):
    copied = CopiedTopic("orders", source or {}, target or {}, **more)
    return list(judge_topics("A->B", [copied], NOW))


def test_topics_that_agree_with_their_copies_are_one_line():
    (found,) = judged({SIZE: "10", "retention.ms": "5"}, {SIZE: "10", "retention.ms": "5"})
    assert (found.level, found.where) == (FindingLevel.OK, "flow A->B")


def test_a_target_that_takes_smaller_batches_is_a_warning_with_both_sizes():
    (found,) = judged({SIZE: "2000"}, {SIZE: "1000"})
    assert (found.level, found.check) == (FindingLevel.WARNING, "message size")
    assert found.what.endswith("in bytes: orders (2,000 > 1,000)")


def test_log_append_time_on_the_target_alone_is_a_warning():
    (found,) = judged({TYPE: "CreateTime"}, {TYPE: "LogAppendTime"})
    assert found.check == "timestamps"
    both = {TYPE: "LogAppendTime"}
    assert [each.level for each in judged(both, both)] == [FindingLevel.OK]


@pytest.mark.parametrize(
    ("age", "levels"), [(DAY, [FindingLevel.OK]), (DAY + 1, [FindingLevel.ERROR])]
)
def test_records_older_than_the_target_takes_are_an_error(age, levels):
    found = judged({}, {BEFORE: str(DAY)}, oldest_ms=NOW - age)
    assert [each.level for each in found] == levels


@pytest.mark.parametrize(
    ("ahead", "levels"), [(DAY, [FindingLevel.OK]), (DAY + 1, [FindingLevel.ERROR])]
)
def test_records_of_a_future_that_the_target_refuses_are_an_error(ahead, levels):
    found = judged({}, {AFTER: str(DAY)}, newest_ms=NOW + ahead)
    assert [each.level for each in found] == levels


def test_a_copy_that_is_deleted_earlier_is_a_warning():
    (found,) = judged({"retention.ms": str(7 * DAY)}, {"retention.ms": str(DAY)})
    assert (found.level, found.what.rpartition(": ")[2]) == (
        FindingLevel.WARNING,
        "orders (7d > 1d)",
    )
    (forever,) = judged({"retention.ms": "-1"}, {"retention.ms": str(DAY)})
    assert forever.what.endswith("orders (for ever > 1d)")


def test_retention_of_compacted_topics_means_nothing():
    compact = {"cleanup.policy": "compact", "retention.ms": "1"}
    assert [each.level for each in judged({"retention.ms": "5"}, compact)] == [FindingLevel.OK]


@pytest.mark.parametrize(
    ("share", "level"),
    [(0.49, FindingLevel.OK), (0.5, FindingLevel.WARNING), (0.8, FindingLevel.ERROR)],
)
def test_a_backlog_as_old_as_the_sources_retention_will_be_lost(share, level):
    configs = {"retention.ms": str(DAY)}
    (found,) = judged(configs, configs, behind_s=share * DAY / 1000)
    assert found.level is level
