"""What is done about an event that needs an answer: a person's decision, else the flow's policy.

Pure. ``stop`` parks the partition; each other choice lets it go on, and what is lost is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import PartitionState

if TYPE_CHECKING:
    from replication.model import Choice

STOP, CONTINUE, RESEED, SKIP = "stop", "continue", "reseed", "skip"


@dataclass(frozen=True, slots=True)
class Policies:
    """What is done without a person when a partition gets into a state; ``stop`` parks it."""

    lost_range: str = "continue"  # or stop
    source_recreated: str = "stop"  # or continue: all of the new topic follows
    source_truncated: str = "stop"  # or continue from the source's end
    target_reset: str = "stop"  # or continue from our position, or reseed from the source's start
    target_foreign: str = "continue"  # or stop
    target_exists: str = "stop"  # or continue: a topic of others, with records, is appended to
    refused: str = "stop"  # or skip
    dead_letters: bool = False  # a refused record that is skipped goes to the dead-letter topic


# What a person may choose in each state, besides waiting for the cause to go.
CHOICES: dict[str, tuple[str, ...]] = {
    PartitionState.LOST_RANGE: (CONTINUE,),
    PartitionState.SOURCE_RECREATED: (CONTINUE,),
    PartitionState.SOURCE_TRUNCATED: (CONTINUE,),
    PartitionState.TARGET_RESET: (CONTINUE, RESEED),
    PartitionState.TARGET_FOREIGN: (CONTINUE,),
    PartitionState.REFUSED: (SKIP,),
    PartitionState.POSITION_LOST: (CONTINUE, RESEED),
}


def choose(
    state: PartitionState, position: int | None, policies: Policies, decision: Choice | None
) -> str:
    """Return the choice for a partition that got into ``state``.

    ``position`` is the source offset of its anchor, None when it has none. A person's decision
    holds for the one event that it names.
    """
    at = -1 if position is None else position
    if decision is not None and (decision.state, decision.position) == (state, at):
        return decision.choice
    return str(getattr(policies, state.lower(), STOP))


def what_to_do(state: str) -> str:
    """Return a sentence with the choices that a person has; empty when there are none."""
    choices = CHOICES.get(state)
    return f"choose with `isthmus resolve`: {' or '.join(choices)}" if choices else ""
