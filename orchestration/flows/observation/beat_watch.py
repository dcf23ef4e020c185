"""Says how long ago drivers beat, from one look to the next, by our clock alone.

A beat is a time by the clock of the driver's host. If that clock is ahead, the last beat of a
driver that is dead looks fresh for as long; if it is behind, one that lives looks dead. Whether the
beat changes depends on no clock, so what counts is the time since it was seen to change.

A process that has not looked for ``_FOLLOWED_S`` knows no more than what the clocks say.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.supervision.health import BEAT_STALE_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestration.flows.observation.flow_look import FlowLook
    from replication.state import FlowStatus

# Looks come seconds apart; a silent cluster of the file makes that 20 s and more.
_FOLLOWED_S = 60.0


@dataclass(frozen=True, slots=True)
class _SeenBeat:
    beat: tuple[str, int]  # of which process, and when by its clock
    since_s: float  # when this process first saw it
    age_ms: int  # how old it was then, as far as that is known
    began_s: float  # when the last look began: it read the beat after that

    def age_at(self, now_s: float) -> int:
        return self.age_ms + int((now_s - self.since_s) * 1000)


class BeatWatch:
    """The beats of a file's flows, as one process sees them; safe to lose."""

    def __init__(self) -> None:
        self._seen: dict[str, _SeenBeat] = {}  # by flow
        self._lock = threading.Lock()  # sensors run in threads

    def aged(self, look: Callable[[], FlowLook]) -> FlowLook:
        """Look; return that with the age of its status' beat, and remember that beat."""
        began_s = time.monotonic()
        found = look()
        status = found.seen.status
        if status is None:
            return found
        with self._lock:
            age_ms = self._age_ms(status, found.seen.now_ms, began_s)
        return replace(found, seen=replace(found.seen, beat_age_ms=age_ms))

    def _age_ms(self, status: FlowStatus, now_ms: int, began_s: float) -> int:
        """Return the age of a beat, as of a look that began then and ends now.

        Looks overlap, and a silent cluster delays some: one that began before the last look that
        ended may have read an older beat, so it changes nothing.
        """
        now_s, beat = time.monotonic(), (status.instance, status.beat_ms)
        known = self._seen.get(status.flow)
        if known is not None and began_s < known.began_s:
            return known.age_at(now_s)
        if known is None or known.beat != beat:
            clocks_ms = max(0, now_ms - status.beat_ms)
            known = _SeenBeat(beat, now_s, _changed(clocks_ms, known, now_s), began_s)
        self._seen[status.flow] = known = replace(known, began_s=began_s)
        return known.age_at(now_s)


def _changed(clocks_ms: int, last: _SeenBeat | None, now_s: float) -> int:
    """Return the age of a beat that the last look did not find: at most the time since that look.

    Of the first one that is seen no more is known than what both clocks say. One that changed while
    it was followed is fresh, if only just: if nothing comes, the next look finds a dead driver.
    """
    if last is None:
        return clocks_ms
    gap_s = now_s - last.began_s
    return min(clocks_ms, int(gap_s * 1000) if gap_s >= _FOLLOWED_S else BEAT_STALE_MS - 1)
