"""``isthmus verify`` over several flows: what fails for one hides nothing of the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.settings.config_files import TWO, written
from typer.testing import CliRunner

from orchestration.cli.flows import verify
from orchestration.cli.main import app
from orchestration.verification.outcome import PartitionOutcome, Speed, VerificationOutcome
from replication.errors import EnvironmentProblem
from replication.records.batch_comparison import OffsetPair

if TYPE_CHECKING:
    from pathlib import Path

THREE = f"""{TWO}clusters = A, B, C
C.bootstrap.servers = c:9092
A->C.enabled = true
"""


def outcome(flow: str, **counts: int) -> VerificationOutcome:
    found = PartitionOutcome(
        "t-0", "A.t-0", OffsetPair(0, 0), OffsetPair(9, 9), 1, 9, counts=counts
    )
    return VerificationOutcome(flow, 1_700_000_000_000, [found], Speed(9, 1.0, 1, 1.0))


class Verifications:
    """What took the place of FlowVerification: the result of each flow, or its failure."""

    def __init__(self, **found: VerificationOutcome | Exception) -> None:
        self.found = found

    def __call__(self, flow, *_) -> Verifications:
        return Verifications(now=self.found[flow.name.replace("->", "_")])

    def run(self) -> VerificationOutcome:
        found = self.found["now"]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    file = written(tmp_path, THREE)

    def run(*options: str, silent: str = "", **found: VerificationOutcome | Exception):
        monkeypatch.setattr(verify, "FlowVerification", Verifications(**found))

        def reachable(config, _):
            flows = tuple(each for each in config.flows if each.name != silent)
            return flows, {silent: "cluster C does not answer: refused"} if silent else {}

        monkeypatch.setattr(verify, "reachable_flows", reachable)
        return CliRunner().invoke(app, ["verify", str(file), *options])

    return run


def test_a_difference_is_shown_and_ends_with_1_though_a_later_flow_cannot_be_compared(command):
    lost = outcome("A->B", lost=2)
    found = {"A_B": lost, "A_C": EnvironmentProblem("the Spark job ended with 1")}
    result = command(**found)
    assert result.exit_code == 1
    assert "A->B: different: 9 records equal, 2 lost" in result.output
    assert "A->C: nothing verified: the Spark job ended with 1" in result.output
    document = json.loads(command("-o", "json", **found).stdout)
    assert [(each["flow"], each["result"]) for each in document] == [
        ("A->B", "different"),
        ("A->C", "nothing verified"),
    ]
    assert document[1]["nothing_found"] == "the Spark job ended with 1"


def test_a_flow_whose_cluster_is_silent_keeps_no_other_from_its_verification(command):
    result = command(silent="A->C", A_B=outcome("A->B"))
    assert result.exit_code == 2
    assert "A->B: equal" in result.output
    assert "A->C: nothing verified: cluster C does not answer" in result.output
    assert command(silent="A->C", A_B=outcome("A->B", lost=1)).exit_code == 1


def test_a_report_that_cannot_be_written_hides_no_difference(command, tmp_path: Path):
    (tmp_path / "home").write_text("no directory")
    result = command(A_B=outcome("A->B", lost=2), A_C=outcome("A->C"))
    assert result.exit_code == 1
    assert "A->B: different: 9 records equal, 2 lost" in result.output
    assert "A->B: writing the report to" in result.output
    assert command(A_B=outcome("A->B"), A_C=outcome("A->C")).exit_code == 2
