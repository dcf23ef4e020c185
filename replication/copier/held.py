"""Partitions whose readable end stands still because a transaction at the source stays open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.copier.fetch_values import Fetched
    from replication.copier.lane import Lane

HELD_S = 5.0  # transactions of applications are shorter


@dataclass(slots=True)
class Held:
    """Remembers since when each lane's last stable offset has been what it is."""

    _since: dict[Lane, tuple[int, float]] = field(default_factory=dict)

    def heard(self, lane: Lane, found: Fetched, now: float) -> None:
        """Take in an answer to a reader of committed records; say so when it is held for long."""
        if not found.stable < found.high_watermark or lane.position < found.stable:
            self._since.pop(lane, None)
            lane.held = ""
            return
        offset, since = self._since.setdefault(lane, (found.stable, now))
        if offset != found.stable:
            self._since[lane] = found.stable, now
            lane.held = ""
        elif now - since >= HELD_S:
            behind = found.high_watermark - found.stable
            lane.held = (
                f"held by an open transaction at offset {found.stable} of the source; "
                f"{behind} offsets behind it wait until it ends"
            )
