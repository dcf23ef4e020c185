"""How failover and switchover end: JSON is alone on stdout, the exit code depends on no format."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import typer
import yaml

from orchestration.cli.recovery.procedure_output import cannot_start, print_result
from orchestration.cli.screen.output import Output
from orchestration.failback.failback_report import FailbackReport
from orchestration.recovery.failover_report import FailoverReport
from orchestration.switchover.switchover_report import SwitchoverReport
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
from replication.recovery.group_sync_age import GroupSyncAge
from replication.recovery.procedure import DONE
from replication.state import Operation
from replication.supervision.recovery_point import RecoveryPoint

DID = Operation("A->B", "op1", "failover", DONE, writable="B")
LEFT = (
    LeaveOffset("g", TopicPartition("t", 0), "t-0 offset 7 does not exist"),
    LeaveGroup("h", "it has active members on the target (Stable)"),
)


def failover_report(actions, operation):
    return FailoverReport("A->B", RecoveryPoint(), (), actions, GroupSyncAge(0), operation)


def switchover_report(actions, operation):
    return SwitchoverReport("A->B", actions=actions, operation=operation)


@pytest.fixture(params=[failover_report, switchover_report])
def report_with(request):
    return request.param


@pytest.mark.parametrize("output", Output)
def test_an_operation_that_left_positions_ends_with_1_whatever_its_output_is(
    report_with, capsys, output
):
    with pytest.raises(typer.Exit) as ended:
        print_result(report_with(LEFT, DID), output)
    assert ended.value.exit_code == 1
    shown = capsys.readouterr()
    assert " done, but not all groups are set: 2 group positions left, the first" in shown.err
    if not output.is_text:  # JSON is YAML too
        assert [each["group"] for each in yaml.safe_load(shown.out)["left"]] == ["g", "h"]


def test_positions_that_the_record_does_not_name_count_as_left(report_with, capsys):
    for left, shown in ((LEFT, "9 group positions left, the first of group g: "), ((), "7 group")):
        with pytest.raises(typer.Exit):
            print_result(report_with(left, replace(DID, more_left={"set groups": 7})), Output.TEXT)
        assert f"not all groups are set: {shown}" in capsys.readouterr().err


def test_a_failback_that_does_not_know_what_was_left_of_groups_ends_with_1(capsys):
    report = FailbackReport("A->B", operation=DID, moved_problem="A is silent")
    with pytest.raises(typer.Exit) as ended:
        print_result(report, Output.TEXT)
    assert ended.value.exit_code == 1
    assert "what its switchover left of groups is not known: A is silent; once" in (
        " ".join(capsys.readouterr().err.split())
    )


@pytest.mark.parametrize("operation", [None, DID])
def test_a_plan_or_an_operation_that_set_all_groups_ends_with_0(report_with, capsys, operation):
    left = LEFT if operation is None else ()
    print_result(report_with(left, operation), Output.JSON)
    assert json.loads(capsys.readouterr().out)["flow"] == "A->B"


@pytest.mark.parametrize(
    ("problems", "line"),
    [
        (("B is silent",), "failover of A->B cannot start: B is silent"),
        (("B is silent", "x", "y"), "failover of A->B cannot start: B is silent; 2 more above"),
    ],
)
def test_the_last_line_of_a_procedure_that_cannot_start_is_its_first_problem(problems, line):
    assert cannot_start("failover of A->B", problems) == line
