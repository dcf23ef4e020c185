"""Since when a transform works as it works now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.model import PartitionState, TopicPartition
from replication.settings.transform_settings import SettingText, TopicTransform
from replication.state import Anchor, TransformStart, parse
from spark_jobs.transform.start_record import (
    definition_of,
    goes_on,
    lost_position,
    start_now,
    with_more,
)

SQL = TopicTransform("t", where=SettingText("a = 1", "f:1"))


def anchor(partition: int, source: int | None, **more: object) -> Anchor:
    found = Anchor("f", "t", partition, "A.t", source, None, transform="where", **more)
    state = more.get("state", PartitionState.RUNNING)
    return replace(found, state=state, source_topic_id="id", target_topic_id="copy")


def start(*offsets: int | None, definition: str = "d") -> TransformStart:
    ids = {"t": "id"}, {"A.t": "copy"}
    return TransformStart("f", 0, definition, {"t": [*offsets]}, *ids, {"A.t": [0, 0]})


def test_it_begins_where_the_anchors_at_work_are():
    waiting = anchor(3, 9, state=PartitionState.WAITING)
    found = start_now("f", 0, "d", [anchor(2, 7), anchor(0, 5), waiting, anchor(1, None)])
    ids = {"t": "id"}, {"A.t": "copy"}
    assert found == TransformStart("f", 0, "d", {"t": [5, None, 7]}, *ids)


def test_it_goes_on_while_nothing_changes_and_partitions_are_added():
    now = start_now("f", 0, "d", [anchor(0, 50), anchor(1, 60)])
    known = start(5)
    assert goes_on(known, now, [TopicPartition("t", 1)])
    assert with_more(known, now).sources == {"t": [5, 60]}
    assert with_more(start(5, 6), now) == start(5, 6)


@pytest.mark.parametrize("change", ["definition", "topic", "copy", "position"])
def test_it_begins_anew_with_another_definition_another_topic_or_a_lost_position(change):
    now = start_now("f", 0, "d", [anchor(0, 50)])
    known = start(5, definition="other" if change == "definition" else "d")
    if change == "topic":
        known = replace(known, source_ids={"t": "of a deleted one"})
    if change == "copy":
        known = replace(known, target_ids={"A.t": "of a deleted one"})
    anew = [TopicPartition("t", 0)] if change == "position" else []
    assert not goes_on(known, now, anew)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (anchor(0, 5), anchor(0, 5), False),
        (anchor(0, 5), anchor(0, 6), False),  # a record was left out by an operator
        (anchor(0, 5), anchor(0, 0), True),
        (None, anchor(0, 0), True),
        (anchor(0, None), anchor(0, 0), True),
        (replace(anchor(0, 5), transform=""), anchor(0, 5), True),  # a unit copied it meanwhile
    ],
)
def test_a_position_is_lost_where_the_transform_does_not_go_on(before, after, lost):
    assert lost_position(before, after) is lost


def test_the_definition_is_of_what_it_does_not_of_where_it_is_written():
    moved = replace(SQL, where=SettingText("a = 1", "f:9"), batch_records=7)
    assert definition_of(moved) == definition_of(SQL)
    for other in (
        replace(SQL, where=SettingText("a = 2", "f:1")),
        replace(SQL, value_format="json"),
        replace(SQL, pattern="u"),
    ):
        assert definition_of(other) != definition_of(SQL)


def test_the_definition_of_a_function_is_of_its_file(tmp_path):
    made = TopicTransform("t", function=SettingText("f.py:g", "f:1"), folder=str(tmp_path))
    (tmp_path / "f.py").write_text("one")
    before = definition_of(made)
    (tmp_path / "f.py").write_text("two")
    assert definition_of(made) != before


def test_a_stored_start_comes_back_as_it_was():
    stored = start(5, None, 7)
    assert parse(stored.key(), stored.value()) == stored
