"""Stored answers: for how long they hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.model import TopicPartition
from replication.offsets import stored_answers
from replication.offsets.offset_map import Answer
from replication.offsets.stored_answers import StoredAnswers
from replication.state import Anchor

HERE = TopicPartition("orders", 0)
ANCHOR = Anchor(
    "A->B",
    *HERE,
    "A.orders",
    50,
    60,
    run=(1, 0, 0, 0, 0),
    source_topic_id="aa",
    target_topic_id="bb",
)


def a_store():
    found = StoredAnswers()
    found.of(HERE, ANCHOR, 0)[7] = Answer(17)
    return found


def test_answers_outlast_further_anchors_of_the_same_copy():
    further = replace(ANCHOR, source=90, target=100, run=(1, 3, 80, 90, 70))
    assert a_store().of(HERE, further, 0) == {7: Answer(17)}
    assert a_store().of(TopicPartition("orders", 1), ANCHOR, 0) == {}


@pytest.mark.parametrize(
    ("anchor", "lost"),
    [
        pytest.param(replace(ANCHOR, run=(2, 0, 0, 0, 0)), 0, id="copied anew"),
        pytest.param(replace(ANCHOR, source_topic_id="cc"), 0, id="source recreated"),
        pytest.param(replace(ANCHOR, target_topic_id="cc"), 0, id="target recreated"),
        pytest.param(ANCHOR, 1, id="source truncated"),
    ],
)
def test_answers_of_another_copy_do_not_count(anchor, lost):
    store = a_store()
    assert store.of(HERE, anchor, lost) == {}
    assert store.of(HERE, ANCHOR, 0) == {}, "nor when it was seen in between"


def test_too_many_answers_are_forgotten(monkeypatch):
    store = a_store()
    store.trim()
    assert store.of(HERE, ANCHOR, 0)
    monkeypatch.setattr(stored_answers, "_MOST", 0)
    store.trim()
    assert store.of(HERE, ANCHOR, 0) == {}
