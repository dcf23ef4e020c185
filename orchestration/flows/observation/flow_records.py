"""Picks from a flow's stored records those of one kind, in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.state import (
    AbsentTopic,
    Anchor,
    Drill,
    GroupPositions,
    Loss,
    Operation,
    Stored,
    TaskReport,
)
from replication.supervision.recovery_point import selected_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.settings.flow_settings import Flow


def anchors_of(stored: Iterable[Stored]) -> tuple[Anchor, ...]:
    anchors = (each for each in stored if isinstance(each, Anchor))
    return tuple(sorted(anchors, key=lambda each: (each.topic, each.partition)))


def absent_topics(stored: Iterable[Stored]) -> tuple[AbsentTopic, ...]:
    absent = (each for each in stored if isinstance(each, AbsentTopic) and each.state)
    return tuple(sorted(absent, key=lambda each: each.topic))


def task_reports(stored: Iterable[Stored]) -> tuple[TaskReport, ...]:
    tasks = (each for each in stored if isinstance(each, TaskReport))
    return tuple(sorted(tasks, key=lambda each: each.name))


def group_positions(flow: Flow, stored: Iterable[Stored]) -> tuple[GroupPositions, ...]:
    groups = (each for each in stored if isinstance(each, GroupPositions))
    return selected_groups(groups, flow.selection)


def good_drill(stored: Iterable[Stored]) -> Drill | None:
    return next((each for each in stored if isinstance(each, Drill) and each.good), None)


def operations(stored: Iterable[Stored]) -> Iterable[Operation]:
    return (each for each in stored if isinstance(each, Operation))


def losses_of(stored: Iterable[Stored]) -> tuple[Loss, ...]:
    losses = (each for each in stored if isinstance(each, Loss))
    return tuple(sorted(losses, key=lambda each: (each.at_ms, each.topic, each.partition)))
