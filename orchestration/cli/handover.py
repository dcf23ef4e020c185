"""``isthmus takeover`` and ``handback``: over from MirrorMaker 2, and back to it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.intents import Named  # noqa: TC001 - as above
from orchestration.clusters import KafkaClusters, read_config
from orchestration.handover import at_rest, find_out, hand_back, plan_return, take_over
from orchestration.intents import named_flows
from replication.mm2.takeover import explain

if TYPE_CHECKING:
    from orchestration.handover import Found

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it; without this: only the plan.")]

Search = Annotated[int, typer.Option(help="Records that are read back, a partition.")]


def takeover(  # noqa: PLR0913 - the options of the command
    *,
    from_mm2: Annotated[Path, typer.Option(help="The properties file of MirrorMaker 2.")],
    flow: Named = None,
    yes: Yes = False,
    trust_stored: Annotated[
        bool, typer.Option(help="Where the content proves nothing, go by the stored position.")
    ] = False,
    watch_seconds: Annotated[float, typer.Option(help="How long it must be silent.")] = 5.0,
    search: Search = 200_000,
) -> None:
    """Go on where MirrorMaker 2 stopped: nothing is copied again, nothing is left out.

    Shows the plan; --yes carries it out. MirrorMaker 2 must have stopped, and the flow must not
    run. Exit code 1: something is in the way.
    """
    config, clusters, fine = read_config(from_mm2), KafkaClusters(), True
    for each in named_flows(config, flow):
        anchors = at_rest(each, clusters)
        found = find_out(each, config, watch_seconds, search)
        _say(found)
        if yes:
            count = take_over(found, anchors, clusters, trust=trust_stored)
            typer.echo(f"{each.name}: {count} partitions are taken over; isthmus run goes on "
                       "(isthmus resume, if the flow was stopped)")  # fmt: skip
        fine = fine and not found.unproven
    if not yes:
        typer.echo("this is the plan; --yes carries it out")
        raise typer.Exit(0 if fine or trust_stored else 1)


def handback(
    *,
    to_mm2: Annotated[Path, typer.Option(help="The properties file, as MirrorMaker 2 reads it.")],
    flow: Named = None,
    yes: Yes = False,
    search: Search = 200_000,
) -> None:
    """Let MirrorMaker 2 go on where the flow stands: it repeats nothing and leaves nothing out.

    Shows the plan; --yes carries it out. The flow must be stopped or paused, and is stopped for
    good; MirrorMaker 2 must not run yet.
    """
    config, clusters = read_config(to_mm2), KafkaClusters()
    for each in named_flows(config, flow):
        returns = plan_return(each, config, at_rest(each, clusters), search)
        typer.echo(f"{each.name}: positions for {each.mm2.offsets_topic} of {each.target}")
        for one in returns:
            typer.echo(f"  {one.explain()}")
        if yes:
            hand_back(each, config, returns, clusters)
            typer.echo(
                f"{each.name}: {len(returns)} partitions are handed back; start MirrorMaker 2"
            )
    if not yes:
        typer.echo("this is the plan; --yes carries it out")


def _say(found: Found) -> None:
    name = found.flow.name
    typer.echo(f"{name}: MirrorMaker 2 has stopped: {'; '.join(found.silence)}")
    typer.echo(f"{name}: {found.stored} positions in {found.flow.mm2.offsets_topic}")
    for each in found.steps:
        typer.echo(f"  {explain(each)}")
