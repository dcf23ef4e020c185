"""``isthmus plan`` and ``apply``: shows the changes on each cluster with reasons; makes them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from orchestration.cli.flows.flow_options import File, Named, named_again
from orchestration.cli.positions.group_differences import pending_groups
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end, print_error
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.progress_bar import ProgressBar
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.intents import named_flows, signature
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.older_settings import older_settings
from orchestration.flows.plans import target_plans
from replication.config.changes import fingerprint
from replication.config.load import load_config
from replication.errors import ClusterUnavailable
from replication.planning.apply import ActionResult, is_change
from replication.planning.execute import execute
from replication.planning.explain import as_data, counted, explain_action
from replication.planning.overview import overview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from replication.planning.apply import Action, ActionOutcome
    from replication.planning.overview import FlowOverview
    from replication.planning.planner import Planner, TargetPlan

_DIFFERENT = 2
_FAILED = 1
Again = Annotated[
    bool, typer.Option("--again", help="Retry changes that the cluster rejected earlier.")
]
Groups = Annotated[
    bool,
    typer.Option("--groups", help="Also show the offsets of consumer groups that would be set."),
]


def plan(
    file: File,
    *,
    flow: Named = None,
    again: Again = False,
    groups: Groups = False,
    output: Format = Output.TEXT,
) -> None:
    """Show each topic, and each change that `isthmus apply` would make, with its reason.

    Exit code 0: no change; 2: changes; 1: a cluster did not answer. Offsets of groups do not
    count as changes: they move all the time.
    """
    found = list(_plans(file, flow, again=again))
    incomplete = any(each.problems for each, _ in found)
    code = _FAILED if incomplete else _DIFFERENT if _changes(found) else 0
    pending = pending_groups(read_config(file), flow) if groups and not incomplete else {}
    older = [line for each, planner in found for line in _older(each, planner, file)]
    if not output.is_text:
        more = {"older_settings": older, **({"groups": pending} if groups else {})}
        print_data({**_plan_data(found, flow), **more}, output)
    else:
        for each, _ in found:
            _show(each, flow)
        for name, lines in pending.items():
            print_line(
                "\n".join(f"{name}: {line}" for line in lines or ["no group offset would change"])
            )
        for line in older:
            print_line(line)
    end(code, _verdict(found, flow), is_output=output.is_text)


def apply(
    file: File, *, flow: Named = None, again: Again = False, output: Format = Output.TEXT
) -> None:
    """Make the changes that `isthmus plan` shows, and report each. Safe to repeat.

    A change that a cluster rejects is reported; the others are made. Exit code 0: all changes
    were made; 1: some were not.
    """
    silent: list[str] = []
    older: list[str] = []
    done: list[tuple[str, ActionOutcome]] = []
    for each, planner in _plans(file, flow, again=again):
        silent += each.problems
        older += _older(each, planner, file)
        bar = ProgressBar(f"changing {each.target}", len(each.actions))
        try:
            with bar:
                for outcome in _outcomes(each, planner):
                    done.append((each.target, outcome))
                    bar.advance()
                    if output.is_text:
                        print_line(f"{each.target}: {_outcome_line(outcome)}")
        except ClusterUnavailable as error:
            print_error(error)
            silent.append(f"{each.target}: {error}")
    failed = bool(silent) or any(outcome.failed for _, outcome in done)
    if not output.is_text:
        outcomes = [{"cluster": target, **_outcome_data(outcome)} for target, outcome in done]
        print_data({"failed": failed, "outcomes": outcomes, "older_settings": older}, output)
    else:
        for line in older:
            print_line(line)
    end(_FAILED if failed else 0, _summary(done, silent), is_output=output.is_text)


def _plans(
    file: Path, names: list[str] | None, *, again: bool
) -> Iterator[tuple[TargetPlan, Planner]]:
    """Yield the plan of each target that the flows copy to; print clusters that did not answer."""
    config = read_config(file)
    selected = [each.name for each in named_flows(config, names)]
    printed: set[str] = set()
    targets = dict.fromkeys(config.flow(name).target for name in selected)
    plans = target_plans(config, selected, again=again)
    for target in targets:
        with ProgressBar(f"reading {target} and its sources"):
            found, planner = next(plans)
        for problem in found.problems:
            if problem not in printed:
                print_error(problem)
        printed |= set(found.problems)
        yield found, planner


def _older(each: TargetPlan, planner: Planner, file: Path) -> tuple[str, ...]:
    """Return a line for each of the plan's flows whose driver runs by other settings."""
    flows = [source.flow for source in each.sources]
    return older_settings(flows, fingerprint(load_config(file)), planner.clients)


def _outcomes(each: TargetPlan, planner: Planner) -> Iterator[ActionOutcome]:
    return execute(each, planner, signature())


def _changes(found: Iterable[tuple[TargetPlan, Planner]]) -> int:
    return sum(is_change(action) for each, _ in found for action in each.actions)


def _overviews(each: TargetPlan, names: list[str] | None) -> list[FlowOverview]:
    shown = [source for source in each.sources if not names or source.flow.name in names]
    return [overview(each, source) for source in shown]


def _plan_data(
    found: Iterable[tuple[TargetPlan, Planner]], names: list[str] | None
) -> dict[str, Any]:
    found = list(found)
    return {
        "changes": _changes(found),
        "flows": [asdict(flow) for each, _ in found for flow in _overviews(each, names)],
        "clusters": [
            {
                "cluster": each.target,
                "actions": [as_data(action) for action in each.actions],
                "problems": each.problems,
                "warnings": each.warnings,
                "names": [
                    {
                        "kind": conflict.kind,
                        "topic": conflict.target,
                        "refused": [{"flow": e.flow, "topic": e.topic} for e in conflict.refused],
                        "reason": conflict.reason,
                    }
                    for conflict in each.conflicts
                ],
            }
            for each, _ in found
        ],
    }


def _show(each: TargetPlan, names: list[str] | None) -> None:
    screen = console()
    for flow in _overviews(each, names):
        screen.print(Text(f"{flow.flow} copies {counted(len(flow.topics), 'topic')}", style="bold"))
        if flow.topics:
            screen.print(_topics(flow))
        if flow.gap:
            screen.print(Text(f"  {flow.gap}", style="yellow"))
        for excluded in flow.passed_over:
            screen.print(Text(f"  not copied: {excluded.name}: {excluded.reason}", style="dim"))
    for warning in each.warnings:
        screen.print(Text(f"  {warning}", style="yellow"))
    for conflict in each.conflicts:
        if not conflict.refused:  # the others are actions: refusals
            screen.print(Text(f"  {conflict}", style="dim"))
    if each.actions:
        screen.print(Text(f"on {each.target}", style="bold"))
    for action in each.actions:
        screen.print(Text(f"  {_mark(action)} {explain_action(action)}"))


def _topics(flow: FlowOverview) -> TextTable:
    headers = ("  topic", f"on {flow.target}")
    columns = [*map(Column, headers), Column("partitions", right=True)]
    table = TextTable([*columns, Column("delivery"), Column("exists")])
    for row in flow.topics:
        there = "yes" if row.there else "no"
        table.add(f"  {row.topic}", row.target_topic, str(row.partitions), row.mode, there)
    return table


def _mark(action: Action) -> str:
    return "!" if is_change(action) else "-"


def _verdict(found: Sequence[tuple[TargetPlan, Planner]], names: Sequence[str] | None) -> str:
    count = _changes(found)
    if silent := [each.target for each, _ in found if each.problems]:
        seen = f"{counted(count, 'change')} found so far; " if count else ""
        reasons = "; ".join(dict.fromkeys(why for each, _ in found for why in each.problems))
        return f"{seen}the plan for {', '.join(silent)} is incomplete: {reasons}"
    if not count:
        return "nothing to change: every target matches the file"
    return f"{counted(count, 'change')}; make them with: isthmus apply FILE{named_again(names)}"


def _summary(done: Sequence[tuple[str, ActionOutcome]], silent: Sequence[str]) -> str:
    """Return what became of all plans in a line."""
    changes = [outcome for _, outcome in done if is_change(outcome.action)]
    failed = [outcome.problem for outcome in changes if outcome.problem]
    if not (changes or silent):
        return "nothing to change: every target matches the file"
    count = counted(len(changes), "change")
    made = f"{len(changes) - len(failed)} of {count} made" if changes else "nothing was changed"
    rejected = [f"{len(failed)} failed ({failed[0]})"] if failed else []
    return "; ".join([made, *rejected, *dict.fromkeys(silent)])


def _outcome_line(outcome: ActionOutcome) -> str:
    action = explain_action(outcome.action)
    match outcome.result:
        case ActionResult.SKIPPED:
            return action
        case ActionResult.FAILED:
            return f"{action}: FAILED: {outcome.problem}"
        case ActionResult.DONE:
            return f"{action}: done"


def _outcome_data(outcome: ActionOutcome) -> dict[str, Any]:
    return {
        **as_data(outcome.action),
        "outcome": outcome.result,
        "problem": outcome.problem,
        "refused": dict(outcome.refused),
    }
