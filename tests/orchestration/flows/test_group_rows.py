"""Exports of group positions, and what an import makes of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from orchestration.flows.group_rows import as_csv, desired_by, rows_of
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.offsets.consumer_groups import Committed
from replication.offsets.offset_map import Answer
from replication.offsets.sync_round import TranslatedPosition

T, COPY = TopicPartition("orders", 1), TopicPartition("A.orders", 1)
ROWS = rows_of(
    "A->B",
    [
        TranslatedPosition("g", T, Committed(7, 'a "note", or two'), COPY, Answer(5)),
        TranslatedPosition("h", T, Committed(99), COPY, Answer(None)),
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


@pytest.mark.parametrize("text", ["a,b\n1,2\n", '[{"flow": "A->B"}]', "[1]", "[oh"])
def test_what_is_no_export_is_reported_with_its_place(text):
    with pytest.raises(ConfigError, match="file"):
        desired_by(text, "A->B", "file")
