"""State that another release wrote is read: an earlier one's, and a later one's with new fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from replication.state import Stored, parse

RELEASES = sorted((Path(__file__).parents[2] / "inputs" / "state").glob("*.jsonl"))
KINDS = {each.KIND for each in get_args(Stored)}


def records(release: Path) -> list[tuple[bytes, bytes]]:
    """Return keys and values as that release wrote them, one of each kind with all fields set."""
    lines = [json.loads(line) for line in release.read_text().splitlines()]
    return [(each["key"].encode(), each["value"].encode()) for each in lines]


def fields_of(key: bytes, value: bytes) -> dict:
    return {**json.loads(key), **json.loads(value)}


@pytest.mark.parametrize("release", RELEASES, ids=lambda each: each.stem)
def test_what_a_release_wrote_is_read_whole(release):
    for key, value in records(release):
        read = parse(key, value)
        assert read is not None
        written_again = fields_of(read.key(), read.value())
        assert written_again.items() >= fields_of(key, value).items(), read.KIND


def test_the_newest_release_has_a_record_of_each_kind():
    kinds = [json.loads(key)["kind"] for key, _ in records(RELEASES[-1])]
    assert sorted(kinds) == sorted(KINDS), "add a line to the newest file of tests/inputs/state"


def test_what_a_later_release_adds_is_passed_over():
    for key, value in records(RELEASES[-1]):
        more = json.dumps({**json.loads(value), "a field of tomorrow": [1]}).encode()
        assert parse(key, more) == parse(key, value)
