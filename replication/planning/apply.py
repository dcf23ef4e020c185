"""Applies the actions of a plan and returns an outcome for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, assert_never

from replication.errors import ClusterRejected
from replication.planning.acl_sync import AclAction, Grant, Revoke, Skip
from replication.planning.topic_plan import (
    AlterConfigs,
    CreateTopic,
    GrowTopic,
    Keep,
    Refuse,
    TopicAction,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.client.acl_values import Acl
    from replication.state import AppliedConfigs

Doable = CreateTopic | GrowTopic | AlterConfigs | Grant | Revoke
Action = TopicAction | AclAction


class TopicWriter(Protocol):
    """The part of ``client.admin.ClusterAdmin`` that changes things."""

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    def would_create(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    def grow_topic(self, name: str, total: int) -> None: ...

    def alter_configs(self, topic: str, changes: Mapping[str, str | None]) -> None: ...

    def create_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]: ...

    def delete_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]: ...


class ActionResult(StrEnum):
    """What became of an action, in a word."""

    DONE = "done"
    SKIPPED = "skipped"  # on purpose: the action's reason says why
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """What became of an action; ``problem`` is None unless it, or a part of it, failed."""

    action: Action
    problem: str | None
    refused: Mapping[str, str] = field(default_factory=dict)  # parts that were not applied, and why

    @property
    def failed(self) -> bool:
        """Whether the action failed; a difference that is kept is no failure."""
        return self.problem is not None

    @property
    def result(self) -> ActionResult:
        if self.failed:
            return ActionResult.FAILED
        return ActionResult.DONE if is_change(self.action) else ActionResult.SKIPPED


def is_change(action: Action) -> bool:
    """Whether the target differs from the desired state, for Isthmus or an operator to change."""
    return not isinstance(action, Keep | Skip)


def apply_actions(plan: Iterable[Action], target: TopicWriter) -> Iterator[ActionOutcome]:
    """Apply every action; a rejected one does not hold up the others.

    Raises ClusterUnavailable at once: the rest of the plan would fail the same way.
    """
    for action in plan:
        yield _apply(action, target)


def _apply(action: Action, target: TopicWriter) -> ActionOutcome:
    """Apply one action."""
    if isinstance(action, Keep | Skip):
        return ActionOutcome(action, None)
    if isinstance(action, Refuse):
        return ActionOutcome(action, action.reason)
    try:
        refused = _do(action, target)
    except ClusterRejected as error:
        return ActionOutcome(action, str(error))
    return ActionOutcome(action, _listed(refused) if refused else None, refused)


def _do(action: Doable, target: TopicWriter) -> Mapping[str, str]:
    """Apply it; return which parts of it were rejected, and why. Raises ClusterRejected for all."""
    match action:
        case CreateTopic():
            return _create(action, target)
        case GrowTopic(topic, total):
            target.grow_topic(topic, total)
        case AlterConfigs():
            return _alter(action, target)
        case Grant(acls=acls):
            return _named(target.create_acls(acls))
        case Revoke(acls=acls):
            return _named(target.delete_acls(acls))
        case _:
            assert_never(action)
    return {}


def _create(action: CreateTopic, target: TopicWriter) -> Mapping[str, str]:
    """Create a topic, without the configs that the cluster rejects."""
    try:
        target.create_topic(*_arguments(action, action.configs))
    except ClusterRejected:
        refused = {
            config: why
            for config, value in action.configs.items()
            if (why := _refusal(action, {config: value}, target))
        }
        kept = {each: value for each, value in action.configs.items() if each not in refused}
        if not refused or _refusal(action, kept, target):
            raise
        target.create_topic(*_arguments(action, kept))
        return refused
    return {}


def _arguments(
    action: CreateTopic, configs: Mapping[str, str]
) -> tuple[str, int, int, Mapping[str, str]]:
    return action.topic, action.partitions, action.replication_factor, configs


def _refusal(action: CreateTopic, configs: Mapping[str, str], target: TopicWriter) -> str:
    try:
        target.would_create(*_arguments(action, configs))
    except ClusterRejected as error:
        return str(error)
    return ""


def _alter(action: AlterConfigs, target: TopicWriter) -> Mapping[str, str]:
    """Alter all at once; one by one if that is rejected, so that none blocks another."""
    desired = {each.config: each.value for each in action.changes}
    try:
        target.alter_configs(action.topic, desired)
    except ClusterRejected as error:
        if len(desired) == 1:
            return dict.fromkeys(desired, str(error))
    else:
        return {}
    refused = {}
    for config, value in desired.items():
        try:
            target.alter_configs(action.topic, {config: value})
        except ClusterRejected as error:
            refused[config] = str(error)
    return refused


def _named(refused: Mapping[Acl, str]) -> Mapping[str, str]:
    return {str(acl): why for acl, why in refused.items()}


def _listed(refused: Mapping[str, str]) -> str:
    return "; ".join(f"{config}: {why}" for config, why in refused.items())


def applied(outcome: ActionOutcome, before: AppliedConfigs) -> AppliedConfigs | None:
    """Return what to remember of a topic after an outcome; None: nothing new. Pure.

    ``before`` is what was remembered, with the flow and topic that the outcome is about.
    """
    match outcome.action:
        case CreateTopic(configs=desired) if not outcome.failed or outcome.refused:
            asked: Mapping[str, str | None] = desired
        case AlterConfigs(values=desired) if not outcome.failed or outcome.refused:
            asked = {each.config: each.value for each in outcome.action.changes}
        case _:
            return None
    refused = {each: why for each, why in before.refused.items() if each not in asked}
    refused |= {each: (asked[each] or "", why) for each, why in outcome.refused.items()}
    done = {each: value for each, value in desired.items() if each not in refused}
    return replace(before, configs=done, refused=refused)
