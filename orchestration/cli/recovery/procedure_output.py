"""What the verbs of this room show: the plan of steps before them, and the report after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Output, print_data
from orchestration.failback.failback_report import FailbackReport
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from orchestration.recovery.failover_report import FailoverReport
    from orchestration.switchover.switchover_report import SwitchoverReport
    from replication.recovery.procedure import StepPlan


def progress(output: Output) -> Callable[[str], None]:
    """Return what prints progress: on stderr when the output is for a program."""
    return lambda line: print_line(line, err=not output.is_text)


def show_plan(title: str, steps: Iterable[StepPlan]) -> None:
    """Print the steps in order."""
    print_line(f"{title}:")
    for number, step in enumerate(steps, 1):
        print_line(f"  {number}. {step.name}: {step.does}")


def cannot_start(procedure: str, problems: Sequence[str]) -> str:
    """Return the last line of a procedure that its problems, which were printed, prevent."""
    more = f"; {len(problems) - 1} more above" if len(problems) > 1 else ""
    return f"{procedure} cannot start: {problems[0]}{more}"


def print_result(
    report: FailoverReport | SwitchoverReport | FailbackReport, output: Output
) -> None:
    """Print a report; exit code 1 if positions of groups were left, or may be.

    That of a plan: no change.
    """
    if not output.is_text:
        print_data(report.as_json(), output)
    elif report.operation is None:
        print_line("nothing was changed")
    else:
        for line in report.lines():
            print_line(line)
    if report.operation is not None and (number := len(report.left) + report.more_left):
        count = counted(number, "group position")
        whose = (f", the first of group {e.group}: {e.reason}" for e in report.left)
        why = next(whose, "")
        end(1, f"{report.operation.verb} done, but not all groups are set: {count} left{why}")
    if isinstance(report, FailbackReport) and report.moved_problem:
        end(
            1,
            "failback done, but what its switchover left of groups is not known: "
            f"{report.moved_problem}; once that is mended, see isthmus offsets diff FILE",
        )
