"""Groups that need no look in every round: thousands of them stand still. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.groups import LeaveGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.group_round import Round
    from replication.groups import Positions

ALL_EVERY_S = 60.0  # somebody may have changed a group on the target, and its end may have moved


@dataclass(slots=True)
class Settled:
    """Remembers where groups stood at the source when nothing was left to do for them."""

    _at: dict[str, Positions] = field(default_factory=dict)
    _all_at: float = -ALL_EVERY_S

    def unsettled(self, positions: Mapping[str, Positions], now: float) -> Mapping[str, Positions]:
        """Return the groups that have moved since, now and then all of them."""
        if now - self._all_at >= ALL_EVERY_S:
            self._all_at = now
            self._at.clear()
            return positions
        return {name: where for name, where in positions.items() if self._at.get(name) != where}

    def note(
        self, positions: Mapping[str, Positions], found: Round, refused: Mapping[str, str]
    ) -> None:
        """Take in what was done for the groups that were looked at.

        Who waits, was left as it is or was refused is looked at again, and everybody is when a
        broker was silent.
        """
        if found.silent:
            return
        again = {each.group for each in found.moved if each.answer.offset is None}
        again |= {each.group for each in found.actions if isinstance(each, LeaveGroup)}
        self._at.update(
            (name, where)
            for name, where in positions.items()
            if name not in again and name not in refused
        )
