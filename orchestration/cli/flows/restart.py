"""``isthmus restart``: stops flows cleanly, and lets them run again."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.flows.flow_options import All, Chosen, File, chosen_flows
from orchestration.cli.screen.console import console
from orchestration.cli.screen.interrupts import uninterrupted
from orchestration.cli.screen.pipes import drop_unread
from orchestration.cli.screen.stage import stage
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import reachable_flows, require_none_left
from orchestration.flows.restart import FlowRestart, NotAskedToRun
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.errors import ReplicationError
from replication.supervision.driver_supervision import applications


def restart(
    file: File,
    flow: Chosen = None,
    *,
    all_: All = False,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="Limit for the stop, and for the start.")
    ] = 120.0,
) -> None:
    """Stop flows cleanly, one by one, and let each run again with the file as it is now.

    No record is lost or repeated. A flow that is paused or stopped is left as it is, as is one
    whose target does not answer; the others are restarted. If it is interrupted, by Ctrl-C,
    SIGTERM or a closed terminal, the flow is still asked to run. Where one does not start, no
    other is stopped.
    Exit code 1: a flow was left, or did not stop or start in time.
    """
    config, clusters, launcher = (
        read_config(file),
        KafkaClusters(),
        Launcher(state_directory(), file.absolute()),
    )
    apps = {name: app for app in applications(config) for name in app.flows}
    chosen = chosen_flows(config, flow, all_=all_)
    flows, left = reachable_flows(config, chosen, sources=False)
    for number, each in enumerate(flows):
        work = FlowRestart(each, apps[each.name], clusters, launcher, wait)
        asked = False
        try:
            _stopped_and_asked(work)
            asked = True
            with stage(console(), f"starting {each.name}"):
                work.wait()
        except ReplicationError as error:
            left[each.name] = str(error)
            if asked or isinstance(error, NotAskedToRun):
                why = f"not restarted, as {each.name} does not start"
                left |= {other.name: why for other in flows[number + 1 :]}
                break
    require_none_left(left)


def _stopped_and_asked(work: FlowRestart) -> None:
    """Stop a flow, and ask it to run whatever becomes of that."""
    work.refuse()
    try:
        with stage(console(), f"stopping {work.flow.name}"):
            work.stop()
    finally:
        drop_unread()
        with uninterrupted():
            work.start()
