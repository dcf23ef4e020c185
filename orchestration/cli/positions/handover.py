"""``isthmus takeover`` and ``handback``: take flows over from MirrorMaker 2, and hand them back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from orchestration.cli.flows.flow_options import All, Changed, flows_for, named_again
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import keep_file, print_line
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import (
    answering_flows,
    left_lines,
    reachable_flows,
    require_one,
)
from orchestration.handover.handover import (
    UNPROVEN_HELP,
    examine_flow,
    hand_back,
    plan_return,
    stopped_anchors,
    take_over,
)
from replication.errors import ReplicationError
from replication.mm2.takeover import explain
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orchestration.handover.handover import Return, TakeoverFinding
    from replication.mm2.takeover import Unproven
    from replication.model import TopicPartition
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor

Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Carry out the plan; without --yes it is only shown.")
]
Mm2File = Annotated[
    Path, typer.Option(help="Properties file of MirrorMaker 2.", callback=keep_file)
]
_Plan = TypeVar("_Plan")
Search = Annotated[int, typer.Option(help="Records to search per partition.")]


def takeover(  # noqa: PLR0913 - the options of the command
    *,
    from_mm2: Mm2File,
    flow: Changed = None,
    all_: All = False,
    yes: Yes = False,
    trust_stored: Annotated[
        bool, typer.Option(help="Trust MM2's stored offset where content cannot verify it.")
    ] = False,
    watch_seconds: Annotated[float, typer.Option(help="Seconds MM2 must be idle.")] = 5.0,
    search: Search = 200_000,
) -> None:
    """Take flows over from MirrorMaker 2 where it stopped: no record is repeated or skipped.

    Shows the plan; --yes carries it out, if all clusters of the flows that are named answer.
    MirrorMaker 2 must be stopped, and so must the flow. Exit code 1: the offset of a partition
    could not be verified, or a flow has no plan, as a cluster did not answer or something runs;
    the plan shows the other flows.
    """
    config, clusters = read_config(from_mm2), KafkaClusters()

    def plan(each: Flow) -> tuple[dict[TopicPartition, Anchor], TakeoverFinding]:
        anchors = stopped_anchors(each, clusters)
        return anchors, examine_flow(each, config, watch_seconds, search)

    unproven: list[Unproven] = []
    flows, left = _flows(config, flows_for(config, flow, all_=all_, changes=yes), changes=yes)
    for each, (anchors, found) in _plans(flows, left, plan, changes=yes):
        _print(found)
        if yes:
            count = take_over(found, anchors, clusters, trust=trust_stored)
            print_line(
                f"{each.name}: {count} partitions taken over; start the flow: isthmus run FILE "
                f"(if it was stopped: isthmus resume FILE{named_again([each.name])})"
            )
        unproven += found.unproven(trust=trust_stored)
    if not yes:
        print_line("nothing was changed: run it again with --yes")
    failures = [left_lines(left)] if left else []
    if not yes and unproven:
        partitions, first = counted(len(unproven), "partition"), unproven[0]
        why = f"{first.ends.source}: {first.why}. {UNPROVEN_HELP}"
        failures.append(f"the offsets of {partitions} could not be verified, first {why}")
    if failures:
        end(1, "\n".join(failures))


def handback(
    *,
    to_mm2: Mm2File,
    flow: Changed = None,
    all_: All = False,
    yes: Yes = False,
    search: Search = 200_000,
) -> None:
    """Hand flows back to MirrorMaker 2 where they stopped: no record is repeated or skipped.

    Shows the plan; --yes carries it out, if all clusters of the flows that are named answer. The
    flow must be stopped or paused; it is stopped until `isthmus resume`. MirrorMaker 2 must not run
    yet. Exit code 1: a flow has no plan, as a cluster did not answer or something runs; the plan
    shows the other flows.
    """
    config, clusters = read_config(to_mm2), KafkaClusters()

    def plan(each: Flow) -> Sequence[Return]:
        return plan_return(each, config, stopped_anchors(each, clusters), search)

    flows, left = _flows(config, flows_for(config, flow, all_=all_, changes=yes), changes=yes)
    for each, returns in _plans(flows, left, plan, changes=yes):
        print_line(f"{each.name}: offsets to store in {each.mm2.offsets_topic} on {each.target}")
        for one in returns:
            print_line(f"  {one.explain()}")
        if yes:
            hand_back(each, config, returns, clusters)
            print_line(f"{each.name}: {len(returns)} partitions handed back; start MirrorMaker 2")
    if not yes:
        print_line("nothing was changed: run it again with --yes")
    if left:
        end(1, left_lines(left))


def _flows(
    config: Config, names: Sequence[str] | None, *, changes: bool
) -> tuple[tuple[Flow, ...], dict[str, str]]:
    """Return the flows whose clusters answer, and why the others are left.

    Where it ``changes`` something all must answer: one MirrorMaker 2 copies all of them, so with a
    part of them handed over it could neither be started again nor stay stopped.
    """
    if changes:
        return answering_flows(config, names), {}
    return reachable_flows(config, names)


def _plans(
    flows: Sequence[Flow],
    left: dict[str, str],
    plan: Callable[[Flow], _Plan],
    *,
    changes: bool,
) -> Iterator[tuple[Flow, _Plan]]:
    """Yield each flow with its plan, and add to ``left`` why another one has none.

    Where it ``changes`` something, or the flow is alone, it raises what ``plan`` raises.
    """
    is_alone = len(flows) == 1 and not left
    for each in flows:
        try:
            found = plan(each)
        except ReplicationError as error:
            if changes or is_alone:
                raise
            left[each.name] = str(error)
        else:
            yield each, found
    require_one(flows, left)


def _print(found: TakeoverFinding) -> None:
    name = found.flow.name
    print_line(f"{name}: MirrorMaker 2 is stopped: {'; '.join(found.silence)}")
    print_line(f"{name}: {found.stored} source offsets in {found.flow.mm2.offsets_topic}")
    for each in found.steps:
        print_line(f"  {explain(each)}")
