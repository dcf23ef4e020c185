"""What operators are told of records that were not copied."""

from __future__ import annotations

from replication.state import Loss
from replication.supervision.losses import describe, summary

HOUR_MS = 3_600_000
NOW = 1_700_000_000_000  # 2023-11-14 22:13:20 UTC


def a_loss(first: int, at_ms: int, **rest: object) -> Loss:
    return Loss(
        "A->B", "orders", 2, "id", first, "LOST_RANGE", first + 5, "retention", at_ms, **rest
    )


def test_the_newest_loss_is_described_and_the_other_recent_ones_are_counted():
    losses = [a_loss(0, NOW - 2 * HOUR_MS), a_loss(10, NOW - 9_000), a_loss(20, NOW - 8_000)]
    passed, text = summary(losses, NOW)
    newest = "2023-11-14 22:13:12 orders-2 offsets [20, 25) LOST_RANGE: retention"
    assert not passed
    assert text == f"{newest}, and 1 more; `isthmus losses` lists all"
    assert ", and" not in summary(losses[:2], NOW)[1]


def test_a_loss_of_an_hour_ago_is_counted_and_fails_nothing():
    losses = [a_loss(0, NOW - HOUR_MS)]
    assert summary(losses, NOW) == (True, "no loss in the last hour; 1 losses recorded")
    assert not summary(losses, NOW - 1)[0]


def test_a_loss_without_a_missing_offset_is_described_without_a_range():
    loss = Loss("A->B", "orders", 2, "id", 7, "SOURCE_RECREATED", 7, "was created again", NOW)
    assert describe(loss) == "2023-11-14 22:13:20 orders-2 SOURCE_RECREATED: was created again"
