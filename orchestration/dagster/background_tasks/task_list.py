"""Lists the background tasks of a file's flows that Dagster shows and runs.

Their code is in ``replication``; the driver and the command line use it too.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from orchestration.dagster.background_tasks.group_offset_assets import group_task
from orchestration.dagster.background_tasks.task_assets import FlowTask, TaskRunReport
from replication.planning.apply import is_change
from replication.planning.execute import plan_and_apply
from replication.planning.explain import explain_action
from replication.planning.planner import Planner, PlanPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.client.admin import Clients
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


DRIVER_TASKS = frozenset(
    {"topic_configs", "acls", "group_offsets", "heartbeats", "checkpoints", "offset_syncs"}
)  # have an asset, whoever performs them


def flow_tasks(config: Config) -> Iterator[tuple[Flow, FlowTask]]:
    """Yield every flow's tasks."""
    for flow in config.flows:
        yield from ((flow, task) for task in _tasks(flow))


def _tasks(flow: Flow) -> Iterator[FlowTask]:
    yield FlowTask(
        "topic_configs",
        f"Sync topic configs from {flow.source} to the copies on {flow.target}.",
        flow.configs.every,
        partial(_sync, PlanPart.CONFIGS),
        partial(_pending, PlanPart.CONFIGS),
        flow.configs.enabled,
    )
    yield FlowTask(
        "acls",
        f"Sync topic ACLs from {flow.source} to the copies on {flow.target}.",
        flow.acls.every,
        partial(_sync, PlanPart.ACLS),
        partial(_pending, PlanPart.ACLS),
        flow.acls.enabled,
    )
    yield group_task(flow)
    yield _heartbeats(flow)
    yield _checkpoints(flow)


def _heartbeats(flow: Flow) -> FlowTask:
    beats = flow.mm2.heartbeats
    description = (
        f"Write heartbeats to topic heartbeats on {flow.target}, in MirrorMaker 2's format."
    )
    return FlowTask(
        "heartbeats", description, beats.every, _beat, enabled=beats.enabled, by_driver=True
    )


def _beat(_: Config, flow: Flow, __: Clients) -> TaskRunReport:
    from replication.adapters.mm2_writers import heartbeat_pair  # noqa: PLC0415 - Kafka's clients, on first use

    return TaskRunReport(heartbeat_pair(flow).beat())


def _checkpoints(flow: Flow) -> FlowTask:
    checkpoints = flow.mm2.checkpoints
    description = (
        f"Write checkpoints of {flow.source}'s groups to {flow.target}, in MirrorMaker 2's format."
    )
    return FlowTask(
        "checkpoints",
        description,
        checkpoints.every,
        _record,
        enabled=checkpoints.enabled,
        by_driver=True,
    )


def _record(config: Config, flow: Flow, _: Clients) -> TaskRunReport:
    from replication.adapters.group_syncs import GroupSyncs  # noqa: PLC0415 - as above
    from replication.adapters.mm2_writers import recorder  # noqa: PLC0415 - as above

    with closing(GroupSyncs(config)) as syncs:
        return TaskRunReport(recorder(flow, syncs).record())


def _sync(part: PlanPart, config: Config, flow: Flow, clients: Clients) -> TaskRunReport:
    """Plan and apply one part for one flow."""
    done = plan_and_apply(Planner(config, clients, {part}), flow, "Dagster")
    return TaskRunReport(
        done.summary,
        tuple(
            {"what": explain_action(each.action), "outcome": each.problem or str(each.result)}
            for each in done.outcomes
        ),
        (*done.problems, *(each.problem or "" for each in done.outcomes if each.failed)),
        {
            "changes": sum(is_change(each.action) for each in done.outcomes),
            "failed": sum(each.failed for each in done.outcomes),
        },
    )


def _pending(part: PlanPart, config: Config, flow: Flow, clients: Clients) -> tuple[str, ...]:
    """Return the changes of one part for one flow, and make none."""
    plan = Planner(config, clients, {part}).plan(flow.target, {flow.name})
    return tuple(explain_action(each) for each in plan.actions if is_change(each))
