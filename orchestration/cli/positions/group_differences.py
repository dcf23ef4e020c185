"""``isthmus offsets diff``: which offsets of consumer groups a sync would change."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from orchestration.cli.flows.flow_options import (
    File,
    Named,
    as_options,
)
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.group_rows import differences
from orchestration.flows.intents import named_flows
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.reachability import (
    left_lines,
    left_on_failure,
    reachable_flows,
    require_one,
)
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.offsets.groups.consumer_groups import explain_group
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from orchestration.flows.group_rows import GroupOffsetDifference
    from replication.adapters.offset_reader import OffsetReader
    from replication.offsets.groups.consumer_groups import GroupAction
    from replication.offsets.groups.group_sync import GroupSync
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_NONE = "no selected group has committed offsets in a topic that is copied"


def opened_sync(
    flow: Flow, config: Config
) -> AbstractContextManager[tuple[GroupSync, OffsetReader]]:
    """Return what syncs the group offsets of a flow, and reads its offsets, while it is open."""
    from replication.adapters import group_syncs  # noqa: PLC0415 - on first use

    return group_syncs.opened_sync(flow, config)


def diff(
    file: File,
    flow: Named = None,
    *,
    output: Format = Output.TEXT,
) -> None:
    """Show which offsets `sync` would commit, and each group's lag on both clusters.

    Exit code 2: an offset would change. 1: it is not known of all flows, as a cluster did not
    answer or rejected a request; the others are shown.
    """
    config = read_config(file)
    flows, left = reachable_flows(config, flow)
    found: list[GroupOffsetDifference] = []
    for each in flows:
        with left_on_failure(left, each.name):
            found += _differences(each, config)
    require_one(flows, left)
    if not output.is_text:
        print_data([asdict(each) for each in found], output)
    else:
        console().print(_table(found) if found else _NONE)
    changes, last = sum(each.action == "set" for each in found), []
    if changes:
        to_do = f"set them with: isthmus offsets sync FILE{as_options(config, flow)}"
        last = [f"{counted(changes, 'offset')} would change; {to_do}"]
    if left:
        end(1, "\n".join([*last, left_lines(left)]))
    end(2 if changes else 0, "".join(last))


def pending_groups(config: Config, names: Sequence[str] | None) -> dict[str, list[str]]:
    """Return what a sync would change, for each flow that syncs groups, a line per offset."""
    pending = {}
    for flow in named_flows(config, names):
        if flow.groups.sync:
            with opened_sync(flow, config) as (work, _):
                pending[flow.name] = list(explained(work.plan().actions))
                require_all(work, flow)
    return pending


def require_all(work: GroupSync, flow: Flow) -> None:
    """Raise where the last plan left groups out: ClusterRejected if time does not help."""
    for skipped in (work.source.unavailable, work.target.unavailable, work.offsets.errors):
        for reason in skipped.values():
            passes = isinstance(reason, str) or reason.retriable
            kind = ClusterUnavailable if passes else ClusterRejected
            raise kind(f"{flow.name}: some groups were left out: {reason}")
    for each in work.unreadable():
        raise ClusterRejected(f"{flow.name}: group {each.group} was left out: {each.reason}")


def _differences(flow: Flow, config: Config) -> list[GroupOffsetDifference]:
    with opened_sync(flow, config) as (sync, reader):
        found = sync.plan()
        require_all(sync, flow)
        listed = sync.target.listed()
        groups = {each.group for each in found.translated} & listed.keys()
        now = sync.target.positions(listed[each] for each in groups)
        copied = [each for each in found.translated if each.source in reader.known.anchors]
        there = [each for each in copied if not each.problem]  # topics that exist
        ends = (
            reader.ends({each.source for each in there}, target=False),
            reader.ends({each.target for each in there}, target=True),
        )
        return differences(found, dict(now), ends)


def _table(found: Sequence[GroupOffsetDifference]) -> TextTable:
    headers = ("source", "lag", "target", "new offset", "new lag")
    columns = [
        Column("group"),
        Column("partition"),
        *(Column(each, right=True) for each in headers),
    ]
    table = TextTable([*columns, Column("action")])
    for each in found:
        numbers = (
            each.source_offset,
            each.source_lag,
            each.target_offset,
            each.translated,
            each.target_lag,
        )
        shown = ("-" if number is None else str(number) for number in numbers)
        table.add(each.group, each.partition, *shown, each.action)
    return table


def explained(actions: Sequence[GroupAction]) -> Iterator[str]:
    """Yield a line for each position of the actions."""
    return (line for each in actions for line in explain_group(each))
