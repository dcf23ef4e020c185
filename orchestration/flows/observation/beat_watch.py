"""Says how long ago drivers beat, from one look to the next, by our clock alone.

A beat is a time by the clock of the driver's host. If that clock is ahead, the last beat of a
driver that is dead looks fresh for as long; if it is behind, one that lives looks dead. Whether the
beat changes depends on no clock, so what counts is the time since it was seen to change.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.state import FlowStatus


@dataclass(frozen=True, slots=True)
class _SeenBeat:
    beat: tuple[str, int]  # of which process, and when by its clock
    since_s: float  # when this process first saw it
    age_ms: int  # how old it was then, as far as that is known
    looked_s: float  # the last look


class BeatWatch:
    """The beats of a file's flows, as one process sees them; safe to lose."""

    def __init__(self) -> None:
        self._seen: dict[str, _SeenBeat] = {}  # by flow
        self._lock = threading.Lock()  # sensors run in threads

    def aged(self, look: FlowLook) -> FlowLook:
        """Return a look with the age of its status' beat, and remember that beat."""
        seen = look.seen
        if seen.status is None:
            return look
        return replace(look, seen=replace(seen, beat_age_ms=self._age_ms(seen.status, seen.now_ms)))

    def _age_ms(self, status: FlowStatus, now_ms: int) -> int:
        """Return the age of a beat: one that the last look did not find is no older than that look.

        Of the first one that is seen no more is known than what both clocks say.
        """
        now_s, beat = time.monotonic(), (status.instance, status.beat_ms)
        with self._lock:
            known = self._seen.get(status.flow)
            if known is None or known.beat != beat:
                age_ms = max(0, now_ms - status.beat_ms)
                if known is not None:
                    age_ms = min(age_ms, int((now_s - known.looked_s) * 1000))
                known = _SeenBeat(beat, now_s, age_ms, now_s)
            self._seen[status.flow] = replace(known, looked_s=now_s)
        return known.age_ms + int((now_s - known.since_s) * 1000)
