"""What waits for an operator's decision, and the decisions that each allows. Pure.

A partition asks for itself; where the name of a topic changed, the topic asks once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from replication.errors import ConfigError
from replication.model import PartitionState, TopicPartition, decided_at
from replication.naming.selection import listed
from replication.settings.state_policies import CHOICES
from replication.state import Anchor, Decision, NameDecision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import NameChange


@dataclass(frozen=True, slots=True)
class NameQuestion:
    """A topic that was copied under another name than the file gives now."""

    state: ClassVar[str] = PartitionState.NAME_CHANGED

    flow: str
    topic: str  # on the source
    change: NameChange

    @property
    def reason(self) -> str:
        return self.change.reason


Question = Anchor | NameQuestion


def open_questions(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Return the anchors of partitions that are halted in a state with choices of their own."""
    states = CHOICES.keys() - {PartitionState.NAME_CHANGED}
    return tuple(each for each in anchors if each.state in states)


def name_questions(
    flow: str, changes: Mapping[str, NameChange], topic: str | None = None
) -> tuple[NameQuestion, ...]:
    """Return the topics whose name awaits a decision; a named ``topic`` may be decided again."""
    return tuple(
        NameQuestion(flow, name, each)
        for name, each in sorted(changes.items())
        if topic in {None, name} and (not each.choice or topic is not None)
    )


def fitting(questions: Iterable[Question], choice: str) -> tuple[Question, ...]:
    """Return the questions that know ``choice``."""
    return tuple(each for each in questions if choice in CHOICES[each.state])


def answers(
    questions: Iterable[Question], choice: str, by: str, at_ms: int
) -> tuple[tuple[Decision | NameDecision, ...], tuple[Question, ...]]:
    """Return decisions for the questions that know ``choice``, and the questions that do not.

    Raises ConfigError when no question knows it.
    """
    questions = tuple(questions)
    answered = fitting(questions, choice)
    if not answered:
        possible = listed([f"{_subject(each)}: {_choices(each)}" for each in questions])
        raise ConfigError(
            f"{choice!r} is not possible: {possible or 'no partition awaits a decision'}"
        )
    decisions = tuple(_decision(each, choice, by, at_ms) for each in answered)
    return decisions, tuple(each for each in questions if each not in answered)


def _subject(question: Question) -> str:
    return (
        question.topic
        if isinstance(question, NameQuestion)
        else str(TopicPartition(question.topic, question.partition))
    )


def _choices(question: Question) -> str:
    return f"{question.state} allows {' or '.join(CHOICES[question.state])}"


def _decision(question: Question, choice: str, by: str, at_ms: int) -> Decision | NameDecision:
    flow, topic = question.flow, question.topic
    if isinstance(question, NameQuestion):
        return NameDecision(
            flow, topic, question.change.old, question.change.new, choice, by, at_ms
        )
    position = decided_at(question.source)
    return Decision(flow, topic, question.partition, question.state, position, choice, by, at_ms)
