"""``isthmus batch`` and ``isthmus backfill``: what is refused before any cluster is asked."""

from __future__ import annotations

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO, written

from orchestration.cli.local import batch
from orchestration.flows.batch_run import RunOutcome


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


def test_a_silent_cluster_keeps_no_other_batch_flow_from_its_run(tmp_path, monkeypatch):
    more = "clusters = A, B, C\nC.bootstrap.servers = c:9092\nA->C.enabled = true\nmode = batch\n"
    file = written(tmp_path, f"{TWO}{more}")
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))

    class Runner:
        def __init__(self, flow, *_) -> None:
            self.flow = flow

        def run(self) -> RunOutcome:
            return RunOutcome(self.flow.name, "", 5)

    silent = {"A->C": "cluster C does not answer: refused"}
    monkeypatch.setattr(
        batch, "reachable_flows", lambda config, _: ((config.flow("A->B"),), silent)
    )
    monkeypatch.setattr(batch, "BatchRunner", Runner)
    ended = run_command("batch", file)
    assert ended.code == 1
    *_, ran, left = ended.out.splitlines()
    assert ran.startswith("A->B: copied 5 records")
    assert left.endswith("not all: cluster C does not answer: refused")
    assert left.startswith("A->C: ")
