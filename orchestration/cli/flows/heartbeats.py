"""``isthmus heartbeats``: shows the age of each flow's newest heartbeat, on every target."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.kafka_clients import read_config
from orchestration.flows.reachability import (
    left_lines,
    left_on_failure,
    reachable_flows,
    require_one,
)
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.clock import now_ms
from replication.mm2.heartbeats import Age, ages
from replication.naming.policy import is_heartbeat, policy_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_LAST = 1000  # records: some minutes of several pairs
_NONE = "no heartbeat found: is emit.heartbeats.enabled set, and does a flow run?"


def heartbeats(
    file: File,
    *,
    output: Format = Output.TEXT,
) -> None:
    """Show the age of the newest heartbeat of each flow, on every target cluster.

    A record in `heartbeats` shows that a flow's driver (or MirrorMaker 2) runs; one in
    `A.heartbeats` was copied from A. Exit code 1: there is no heartbeat, or a target did not
    answer; the others are shown.
    """
    config = read_config(file)
    flows, left = reachable_flows(config, None, sources=False)
    found: list[Age] = []
    for flow in {each.target: each for each in flows}.values():
        with left_on_failure(left, *(e.name for e in flows if e.target == flow.target)):
            found += _ages(flow, config)
    require_one(flows, left)
    if not output.is_text:
        print_data([asdict(each) for each in found], output)
    elif found:
        console().print(_table(found))
    nothing = "" if found else _NONE
    if failures := [*filter(None, (nothing, left_lines(left)))]:
        end(1, "\n".join(failures))


def _ages(flow: Flow, config: Config) -> list[Age]:
    client, policy = to_librdkafka(flow.clients.target_admin), policy_for(flow, config.clusters)
    admin = KafkaAdmin(client)
    topics = InternalTopicClient(client, admin)
    names = [each for each in admin.topic_names() if is_heartbeat(policy, each)]
    return [
        age
        for name in sorted(names)
        for age in ages(flow.target, name, topics.read(name, last=_LAST), now_ms())
    ]


def _table(found: Sequence[Age]) -> TextTable:
    columns = *map(Column, ("cluster", "topic", "flow")), Column("age", right=True)
    table = TextTable(columns)
    for each in found:
        pair = f"{each.source}->{each.target}"
        table.add(each.at, each.topic, pair, f"{each.ms / 1000:.1f} s")
    return table
