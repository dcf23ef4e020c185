"""``isthmus batch`` and ``isthmus backfill``: what is refused before any cluster is asked."""

from __future__ import annotations

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO, written


@pytest.fixture
def file(tmp_path):
    return written(tmp_path, TWO)


def test_a_stream_is_not_run_as_a_batch(file):
    for words in (("batch", file), ("batch", file, "--flow", "A:B")):
        ended = run_command(*words)
        assert ended.code == 2
        assert "A->B is a stream, which `isthmus run` copies" in ended.err
        assert "A->B.mode = batch" in ended.err


def test_a_flow_that_does_not_exist_is_named(file):
    ended = run_command("batch", file, "--flow", "A:X")
    assert ended.code == 2
    assert "A->X" in ended.err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--from", "yesterday", "from 'yesterday' is not valid: write earliest, a time"),
        ("--topics", "orders(", "topics 'orders(' is not a regular expression"),
    ],
)
def test_a_backfill_names_a_wrong_option(file, option, value, message):
    ended = run_command("backfill", file, "--flow", "A:B", option, value)
    assert ended.code == 2
    assert message in ended.err
