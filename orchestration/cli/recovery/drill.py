"""``isthmus drill``: practises a failover and a failback with canary records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.flow_options import All, Changed, File, flows_for
from orchestration.cli.recovery.procedure_output import progress, show_plan
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.pipes import drop_unread
from orchestration.drill.drill import opened_drill
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import reachable_flows, require_none_left
from orchestration.recovery.target_cluster import require_target
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.adapters.local.java import java
from replication.adapters.local.processes import interrupt_once
from replication.errors import ConfigError, ReplicationError
from replication.recovery.drill import DrillOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.drill.drill_report import DrillReport

_DEFAULT = DrillOptions()


def drill(  # noqa: PLR0913 - one parameter per option
    file: File,
    flow: Changed = None,
    *,
    all_: All = False,
    rate: Annotated[
        int, typer.Option(metavar="RECORDS", help="Records a second while the source is lost.")
    ] = _DEFAULT.rate,
    partitions: Annotated[
        int, typer.Option(metavar="NUMBER", help="Partitions of the canary topic.")
    ] = _DEFAULT.partitions,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a step waits for a driver or a copy.")
    ] = _DEFAULT.timeout_s,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the steps; change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: Format = Output.TEXT,
) -> None:
    """Practise a failover and a failback: with a canary topic, a group and drivers of its own.

    Measures RTO and RPO, compares every record, writes a report, and removes all that it made. The
    flow's topics, groups and positions are not touched. If it is killed, the next drill removes
    what it left.
    """
    options = DrillOptions(rate, partitions, timeout)
    config, say = read_config(file), progress(output)
    found: list[DrillReport] = []
    chosen = flows_for(config, flow, all_=all_, changes=not dry_run)
    flows, left = reachable_flows(config, chosen)
    for each in flows:
        try:
            require_target(
                each, config, KafkaClusters(), Launcher(state_directory(), file.absolute())
            )
            with opened_drill(each, config, state_directory(), say, options) as work:
                work.refuse_in_need()
                if output.is_text:
                    show_plan(f"drill of {each.name}", work.steps())
                if dry_run:
                    continue
                java()
                if not (yes or not output.is_text):
                    typer.confirm(f"Practise with {each.name}?", abort=True)
                interrupt_once()
                drop_unread()  # a terminal that is gone must not end the clean-up
                found.append(work.carry_out())
        except ReplicationError as error:
            if isinstance(error, ConfigError) and not found:
                raise
            left[each.name] = str(error)
    if not found:
        require_none_left(left)
    _show(found, output, left)


def _show(found: list[DrillReport], output: Output, left: Mapping[str, str]) -> None:
    """Print the reports; exit code 1 if a drill was not good, or a flow was left, and why."""
    if not output.is_text:
        print_data({"drills": [each.as_json() for each in found]}, output)
    elif not found:
        print_line("nothing was changed")
    else:
        for line in (line for each in found for line in each.lines()):
            print_line(line)
    failures = [_failure(each) for each in found if not each.good]
    failures += [f"{flow}: {why}" for flow, why in left.items()]
    if failures:
        end(1, "; ".join(failures))


def _failure(report: DrillReport) -> str:
    """Return the first problem of a drill, and where the others are."""
    problem = next(iter(report.problems), "it did not come to its end")
    more = f" (report: {report.files[0]})" if report.files else ""
    return f"the drill of {report.flow} failed: {problem}{more}"
