"""What the faults of a run have done to topics, and which answer of an operator it explains. Pure.

A partition that halts is no fault of the copy if something was done that makes its position
unknown. The answer is always ``reseed``: all is copied again, so that nothing may be missing, and
repeated records are allowed in this partition from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.schedule import Side
from replication.model import PartitionState
from replication.records.compare_compacted import Compacted
from replication.settings.state_policies import RESEED

if TYPE_CHECKING:
    from chaos.topics.chaos_topics import ChaosTopic


@dataclass(slots=True)
class Done:
    """What was done so far."""

    state_lost: bool = False  # records of a state topic
    compacted: dict[str, set[Side]] = field(default_factory=dict)  # by topic on the source

    def compact(self, topic: str, side: Side) -> None:
        """Note that a topic, or its copy, is compacted from now on, if only for a while."""
        self.compacted.setdefault(topic, set()).add(side)

    def sides(self, topic: ChaosTopic) -> Compacted:
        """Return which sides of a topic may lack records that a later one of their key replaced."""
        sides = self.compacted.get(topic.name, set())
        both = topic.compacted
        return Compacted(source=both or Side.SOURCE in sides, target=both or Side.TARGET in sides)

    def answer(self, topic: str, state: str) -> str | None:
        """Return the answer for a halted partition of a topic; None: nothing explains the state."""
        explained = {
            PartitionState.POSITION_LOST: self.state_lost,
            PartitionState.TARGET_RESET: topic in self.compacted,
        }
        return RESEED if explained.get(PartitionState(state)) else None
