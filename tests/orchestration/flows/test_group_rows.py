"""Exports of group positions, and what an import makes of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from orchestration.flows.group_rows import as_csv, desired_by, differences, rows_of
from replication.errors import ConfigError
from replication.model import OffsetRange, TopicPartition
from replication.offsets.groups.consumer_groups import (
    UNSTABLE,
    CommitGroup,
    Committed,
    LeaveGroup,
    LeaveOffset,
)
from replication.offsets.groups.sync_round import SyncRound, TranslatedPosition
from replication.offsets.offset_map import NOT_YET, Answer, without_answer

T, COPY = TopicPartition("orders", 1), TopicPartition("A.orders", 1)
BEYOND = without_answer("is beyond the end of the source (9)")
ROWS = rows_of(
    "A->B",
    [
        TranslatedPosition("g", T, Committed(7, 'a "note", or two'), COPY, Answer(5)),
        TranslatedPosition("h", T, Committed(99), COPY, Answer(None)),
        TranslatedPosition("i", T, Committed(99), COPY, BEYOND),
    ],
)
DESIRED = {"g": {COPY: Committed(5, 'a "note", or two')}}


@pytest.mark.parametrize("text", [as_csv(ROWS), json.dumps([asdict(each) for each in ROWS])])
def test_an_export_is_imported_as_it_was(text):
    assert desired_by(text, "A->B", "file") == DESIRED


def test_a_flow_that_the_file_has_no_line_of_is_refused():
    with pytest.raises(ConfigError, match=r"file: no flow 'C->B'; there is A->B"):
        desired_by(as_csv(ROWS), "C->B", "file")


def test_lines_of_other_flows_are_left_out():
    other = [replace(each, flow="C->B", group="theirs") for each in ROWS]
    assert desired_by(as_csv([*other, *ROWS]), "A->B", "file") == DESIRED


@pytest.mark.parametrize("text", ["", " \n", "a,b\n1,2\n", '[{"flow": "A->B"}]', "[1]", "[oh"])
def test_what_is_no_export_is_reported_with_its_place(text):
    with pytest.raises(ConfigError, match="file"):
        desired_by(text, "A->B", "file")


def test_an_export_says_why_an_offset_has_no_translation():
    assert [each.problem for each in ROWS] == [
        "",
        "",
        "orders-1 offset 99 is beyond the end of the source (9)",
    ]
    old = [{k: v for k, v in asdict(each).items() if k != "problem"} for each in ROWS]
    assert desired_by(json.dumps(old), "A->B", "file") == DESIRED, "of an older release"


@pytest.mark.parametrize("key", ["partition", "target_offset"])
@pytest.mark.parametrize("number", ["-1", "-9223372036854775808", "1.5", "x"])
def test_what_is_no_offset_is_reported_with_its_row(key, number):
    row = {**asdict(ROWS[0]), key: number}
    with pytest.raises(ConfigError, match=r"file: row 1 is not in the format .*"):
        desired_by(json.dumps([row]), "A->B", "file")


def test_a_fraction_is_no_offset_and_the_largest_number_is_one():
    row = {**asdict(ROWS[0]), "target_offset": 1.5}
    with pytest.raises(ConfigError, match="must be an integer"):
        desired_by(json.dumps([row]), "A->B", "file")
    largest = {**row, "target_offset": (1 << 63) - 1}
    assert desired_by(json.dumps([largest]), "A->B", "file")["g"][COPY].offset == (1 << 63) - 1


@pytest.mark.parametrize(
    ("answer", "action", "lag"),
    [
        (Answer(5), "set", 2),
        (NOT_YET, "not copied yet", 2),
        (BEYOND, "skip: orders-1 offset 7 is beyond the end of the source (9)", None),
    ],
)
def test_a_difference_says_what_a_sync_would_do(answer, action, lag):
    moved = TranslatedPosition("g", T, Committed(7), COPY, answer)
    sets = [CommitGroup("g", {COPY: Committed(5)})] if answer.offset else []
    ends = {T: OffsetRange(0, 9)}, {COPY: OffsetRange(0, 9)}
    (found,) = differences(SyncRound((moved,), tuple(sets)), {}, ends)
    assert (found.action, found.source_lag, found.translated) == (action, lag, answer.offset)


def test_an_offset_that_waits_for_what_is_known_of_others_is_not_kept_but_skipped():
    moved = TranslatedPosition("g", T, Committed(7), COPY, Answer(5))
    waits = SyncRound((moved,), unknown=(LeaveOffset("g", COPY, "why"),))
    (found,) = differences(waits, {}, ({}, {}))
    assert found.action == "skip: why"


def test_an_offset_that_a_transaction_may_change_has_no_number():
    moved = TranslatedPosition("g", T, Committed(UNSTABLE), COPY, Answer(None, exact=False))
    why = "a transaction with its offset in orders-1 is open"
    (found,) = differences(SyncRound((moved,)), {}, ({T: OffsetRange(0, 9)}, {}))
    assert (found.source_offset, found.source_lag) == (None, None)
    assert found.action == f"skip: {why}"
    (row,) = rows_of("A->B", [moved])
    assert (row.source_offset, row.target_offset, row.problem) == (None, None, why)
    assert desired_by(as_csv([row]), "A->B", "file") == {}


def test_why_an_offset_has_no_translation_is_said_before_why_its_group_is_left():
    moved = [TranslatedPosition("g", T, Committed(7), COPY, each) for each in (Answer(5), BEYOND)]
    left = LeaveGroup("g", "it has active members on the target (Stable)")
    found = differences(SyncRound(tuple(moved), (left,)), {}, ({}, {}))
    assert [each.action for each in found] == [
        "skip: it has active members on the target (Stable)",
        "skip: orders-1 offset 7 is beyond the end of the source (9)",
    ]
