"""Notes on a flow's plan: what was done, what is refused, which names changed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from replication.naming.name_changes import describe
from replication.planning.explain import explain_action
from replication.planning.topic_plan import Refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.client.admin import TopicInfo
    from replication.model import NameChange
    from replication.planning.apply import ActionOutcome
    from replication.settings.naming_settings import MappedName


class Note(NamedTuple):
    """A note on one action; ``refused``: because of it a topic is not copied."""

    text: str
    refused: bool


def change_notes(
    changes: Mapping[str, NameChange], ours: Mapping[str, TopicInfo]
) -> Iterator[Note]:
    """Yield a note for each changed name; a topic that waits and has no copy is in no plan."""
    for topic, each in changes.items():
        yield Note(describe(topic, each), refused=not each.choice and each.old not in ours)


def hidden_notes(hidden: Mapping[str, MappedName]) -> Iterator[Note]:
    for name, each in sorted(hidden.items()):
        yield Note(
            f"{name} is a copy of {each.topic} of {each.source}: it is not copied back",
            refused=False,
        )


def nothing_else(selected: Collection[str], hidden: Mapping[str, MappedName]) -> str:
    """Return why a flow of which all topics are hidden copies nothing; empty: it has others."""
    if selected or not hidden:
        return ""
    return f"no topic is copied; {next(hidden_notes(hidden)).text}"


def outcome_notes(outcomes: Iterable[ActionOutcome]) -> Iterator[Note]:
    for each in outcomes:
        action = explain_action(each.action)
        has_reason = each.problem is None or isinstance(each.action, Refuse)
        text = action if has_reason else f"{action}: {each.problem}"
        yield Note(text, each.failed and not each.refused)
