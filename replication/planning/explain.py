"""A plan as text, for the dry run and for the log line of each action."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, assert_never

from replication.planning.acl_sync import Grant, Revoke, Skip
from replication.planning.apply import is_change
from replication.planning.topic_plan import (
    BROKER_DEFAULT,
    AlterConfigs,
    CreateTopic,
    GrowTopic,
    Keep,
    Refuse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.planning.acl_sync import AclAction
    from replication.planning.apply import Action
    from replication.planning.topic_plan import TopicAction


def explain_action(action: Action) -> str:
    """Return one action in a line, with its reason."""
    if isinstance(action, Grant | Revoke | Skip):
        return _acl_line(action)
    return _topic_line(action)


def _acl_line(action: AclAction) -> str:
    match action:
        case Grant(resource, acls, reason):
            return f"on {resource} {'; '.join(map(str, acls))} ({reason})"
        case Revoke(resource, acls, reason):
            return f"on {resource} no longer {'; '.join(map(str, acls))} ({reason})"
        case Skip(subject, reason):
            return f"{subject}: {reason}"
        case _:
            assert_never(action)


def _topic_line(action: TopicAction) -> str:
    match action:
        case CreateTopic(topic, partitions, replication_factor, configs, reason):
            replicas = _replicas(replication_factor)
            made = f"{counted(partitions, 'partition')}, {replicas}{_configs(configs)}"
            return f"create {topic}: {made} ({reason})"
        case GrowTopic(topic, total, reason):
            return f"increase {topic} to {counted(total, 'partition')} ({reason})"
        case AlterConfigs(topic, changes):
            return f"alter {topic}: {'; '.join(map(str, changes))}"
        case Keep(topic, reason):
            return f"leave {topic} unchanged: {reason}"
        case Refuse(topic, reason):
            return f"refuse {topic}: {reason}"
        case _:
            assert_never(action)


def _replicas(factor: int) -> str:
    if factor == BROKER_DEFAULT:
        return "the broker's default replication factor"
    return f"replication factor {factor}"


def _configs(configs: Mapping[str, str]) -> str:
    return "".join(f", {name}={value}" for name, value in sorted(configs.items()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 topic``, ``2 topics``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def as_data(action: Action) -> dict[str, Any]:
    """Return one action for programs: its kind, its fields, and the line for operators."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(action).__name__).lower()
    return {
        "kind": kind,
        "changes": is_change(action),
        **asdict(action),
        "text": explain_action(action),
    }
