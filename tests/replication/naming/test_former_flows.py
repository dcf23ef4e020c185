"""A flow whose cluster got another alias copies its topics once more: it is told before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.settings.configs import a_flow

from replication.naming.former_flows import former_flows
from replication.naming.selection import TopicSelector
from replication.state import Anchor

COPIED = Anchor("A->B", "orders", 0, "A.orders", 100, 100, source_topic_id="id-1")
THEIRS = {"orders": "id-1", "clicks": "id-2"}


def reported(*anchors: Anchor, known=("X->B",), theirs=THEIRS) -> list[str]:
    selector = TopicSelector.for_flow(a_flow("X"), ("X", "B"))
    return list(former_flows("X->B", selector, theirs, anchors, known))


def test_the_same_topic_under_a_former_alias_is_told_with_both_names():
    (warning,) = reported(COPIED, replace(COPIED, partition=1))
    assert warning == (
        "X->B has no position, although A->B, which is not in this file, copied the same topics "
        "(orders as A.orders): X->B copies them once more, as a new flow does (orders as "
        "X.orders). If only an alias changed, give the cluster its former one"
    )


@pytest.mark.parametrize(
    ("anchor", "known"),
    [
        pytest.param(replace(COPIED, source_topic_id="id-9"), (), id="a topic of another cluster"),
        pytest.param(replace(COPIED, source_topic_id=""), (), id="copied without topic ids"),
        pytest.param(replace(COPIED, topic="gone"), (), id="not at the source"),
        pytest.param(replace(COPIED, source=None), (), id="never copied"),
        pytest.param(COPIED, ("A->B", "X->B"), id="a flow of the file"),
        pytest.param(replace(COPIED, flow="A-backfill->B"), (), id="a backfill of it"),
    ],
)
def test_nothing_is_told_about_other_copies(anchor, known):
    assert reported(anchor, known=known) == []


def test_topics_without_ids_are_not_taken_for_the_same():
    theirs = {"orders": ""}
    assert reported(replace(COPIED, source_topic_id=""), theirs=theirs) == []


def test_a_backfill_copies_the_topics_of_its_stream_on_purpose():
    selector = TopicSelector.for_flow(a_flow("A-backfill"), ("A-backfill", "B"))
    assert list(former_flows("A-backfill->B", selector, THEIRS, [COPIED], ())) == []
