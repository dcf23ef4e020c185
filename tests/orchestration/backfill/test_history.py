"""Which history a backfill copies: exactly what stands before the stream's first record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestration.backfill.backfill_report import plan_lines, plan_sentence
from orchestration.backfill.history import (
    PartitionHistory,
    TopicFacts,
    handed_over,
    history_of,
    objection_to,
)
from replication.model import TopicPartition
from replication.offsets.offset_points import point_at
from replication.state import Anchor

HERE = TopicPartition("orders", 2)
NOW = Anchor("A->B", "orders", 2, "A.orders", 900, 300, records=300, run=(7, 1, 700, 100, 100))
FIRST = point_at(replace(NOW, source=600, target=0, records=0), 7, 0)
SECOND = point_at(replace(NOW, source=700, target=100, records=100), 7, 1)


def test_the_stream_began_at_the_first_of_its_offset_points():
    assert handed_over(NOW, [SECOND, FIRST]) == 600


def test_points_of_an_earlier_start_of_the_copy_do_not_count():
    earlier = point_at(replace(NOW, source=5, target=0, records=0), 6, 0)
    assert handed_over(NOW, [earlier, FIRST, SECOND]) == 600


def test_where_the_first_point_is_gone_nothing_is_guessed():
    assert "is unknown" in handed_over(NOW, [SECOND])
    assert "is unknown" in handed_over(replace(NOW, run=None), [])


def test_what_another_copier_wrote_before_is_not_copied_again():
    assert "another copier" in handed_over(replace(NOW, since=(600, 0)), [FIRST, SECOND])


def test_a_partition_that_the_stream_has_not_begun_is_refused():
    assert "has not begun" in handed_over(replace(NOW, source=None), [])


def test_the_history_begins_where_it_is_wanted_and_ends_where_the_stream_began():
    assert history_of(NOW, 600, 50, None, "") == PartitionHistory(HERE, "A.orders", 50, 600)
    assert history_of(NOW, 600, 800, None, "").left == 0
    assert history_of(NOW, 600, None, None, "").left == 0
    assert history_of(NOW, 600, 50, 200, "").left == 400
    assert history_of(NOW, 600, 50, None, "it is compacted").left == 0
    assert history_of(NOW, "is not known", 50, None, "").refused == "is not known"


def test_a_plan_names_ranges_and_what_is_left_out():
    plan = (
        history_of(NOW, 600, 50, 200, ""),
        history_of(replace(NOW, partition=3), 600, 600, None, ""),
        history_of(replace(NOW, topic="stock"), 600, 0, None, "it is compacted"),
        history_of(replace(NOW, topic="stock", partition=0), 600, 0, None, "it is compacted"),
    )
    assert list(plan_lines(plan)) == [
        "orders-2 -> A.orders-2: offsets [50, 600); 50 to 200 are copied",
        "stock, 2 partitions: not copied: it is compacted",
    ]
    output = "400 offsets of 1 partitions to copy; 2 partitions are left out"
    assert plan_sentence(plan) == output


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (TopicFacts(("delete", "delete,compact")), "an older value would follow a newer one"),
        (TopicFacts(("compact", "delete")), "an older value would follow a newer one"),
        (TopicFacts(("delete", ""), transformed=True), "it is transformed"),
        (TopicFacts(("delete", "delete"), kept_apart=True), "copies of other clusters"),
        (TopicFacts(("delete", "delete"), stamped=True), "provenance.headers"),
    ],
)
def test_a_topic_whose_history_cannot_stand_behind_its_stream_is_left_out(facts, why):
    assert why in objection_to(facts)


def test_a_topic_that_is_deleted_by_age_is_backfilled():
    assert objection_to(TopicFacts(("delete", "delete"))) == ""
