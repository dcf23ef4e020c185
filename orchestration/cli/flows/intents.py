"""``isthmus pause``, ``resume`` and ``stop``: set the desired state of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.cli.flows.flow_options import All, Chosen, File, chosen_flows
from orchestration.cli.screen.errors import print_error
from orchestration.cli.screen.given_file import print_line
from orchestration.flows.intents import write_intent
from orchestration.flows.kafka_clients import KafkaClusters
from orchestration.flows.reachability import left_on_failure, reachable_flows, require_none_left
from orchestration.services.state_directory import state_directory
from replication.adapters.followed_file import FollowedFile
from replication.model import Desired

if TYPE_CHECKING:
    from pathlib import Path


def pause(file: File, flow: Chosen = None, *, all_: All = False) -> None:
    """Pause flows until they are resumed; their Spark application keeps running.

    One whose target does not answer keeps no other from it. Exit code 1: not all were asked.
    """
    _write(file, flow, Desired.PAUSE, "will pause within seconds", all_=all_)


def resume(file: File, flow: Chosen = None, *, all_: All = False) -> None:
    """Resume paused or stopped flows.

    One whose target does not answer keeps no other from it. Exit code 1: not all were asked.
    """
    _write(file, flow, Desired.RUN, "will run within seconds", all_=all_)


def stop(file: File, flow: Chosen = None, *, all_: All = False) -> None:
    """Stop flows until they are resumed; a Spark application ends with its last running flow.

    One whose target does not answer keeps no other from it. Exit code 1: not all were asked.
    """
    _write(file, flow, Desired.STOP, "will stop within seconds", all_=all_)


def _write(
    file: Path, names: list[str] | None, desired: Desired, outcome: str, *, all_: bool
) -> None:
    reading, clusters = (
        FollowedFile(file, state_directory().root, keeps=False).look(),
        KafkaClusters(),
    )
    if reading.problem:  # what runs by it must stop all the same
        print_error(f"the settings in force are used, not those of the file: {reading.problem}")
    config = reading.config
    chosen = chosen_flows(config, names, all_=all_)
    flows, left = reachable_flows(config, chosen, sources=False)
    for flow in flows:
        with left_on_failure(left, flow.name):
            write_intent(flow, desired, clusters)
            print_line(f"{flow.name} {outcome}")
    require_none_left(left)
