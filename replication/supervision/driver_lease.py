"""Which of two drivers may run a flow: the one whose status has the highest generation.

Pure decisions about records read from the status topic. Taking a lease goes like this::

    read the newest record ─▶ watch it for WATCH_MS ─▶ write ours, generation + 1 ─▶ read to the end
         its holder is known to be gone: do not watch            another one wrote the same
         its beat moves while we watch: FlowTaken                 generation first: FlowTaken

The log decides between two drivers that write at the same time. A beat is compared with earlier
beats only, never with our clock, so clocks that disagree cannot make two drivers believe in
themselves. And should one believe wrongly, the fence of the copier keeps it from appending.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from replication.durations import format_moment
from replication.errors import FlowTaken
from replication.model import FlowState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.state import FlowStatus

Claiming = TypeVar("Claiming")

WATCH_MS = 3_000  # three beats


class Holder(Enum):
    """What is known of the process that wrote the newest record, apart from its beats."""

    UNKNOWN = "unknown"  # another machine, or one that cannot be checked
    GONE = "gone"  # it ran on this machine and runs no more


@dataclass(frozen=True, slots=True)
class Take:
    """Write a status with this generation, then read to the end."""

    generation: int


@dataclass(frozen=True, slots=True)
class Watch:
    """Look again; the holder may be alive."""

    for_ms: int


def decide_lease(
    first: FlowStatus | None,
    newest: FlowStatus | None,
    watched_ms: int,
    holder: Holder,
    known_generation: int = 0,
) -> Take | Watch:
    """Say what to do after watching for ``watched_ms``.

    ``first`` is the record at the beginning of the watch, ``newest`` the one now;
    ``known_generation`` is the highest that other state of the flow names: without a status it was
    lost, and its driver may be alive. Raises FlowTaken if another driver wrote in between.
    """
    if newest is None:
        lost = known_generation > 0 and watched_ms < WATCH_MS
        return Watch(WATCH_MS - watched_ms) if lost else Take(known_generation + 1)
    if first is None or newest.beat_ms != first.beat_ms or newest.instance != first.instance:
        raise taken_by(newest)
    if newest.state == FlowState.STOPPED or holder is Holder.GONE or watched_ms >= WATCH_MS:
        return Take(max(newest.generation, known_generation) + 1)
    return Watch(WATCH_MS - watched_ms)


def check_lease(mine: FlowStatus, since: Iterable[FlowStatus]) -> None:
    """Raise FlowTaken unless ours is the highest generation, and was its first record.

    ``since`` are the flow's records from our first read on, in the order of the log.
    """
    highest = highest_claim(since, lambda each: each.generation, mine)
    if highest.generation >= mine.generation and highest.instance != mine.instance:
        raise taken_by(highest)


def highest_claim(
    since: Iterable[Claiming], number: Callable[[Claiming], int], mine: Claiming
) -> Claiming:
    """Return the first record of the highest number, in the order of the log; ``mine`` if none.

    That order decides between two that write the same number.
    """
    claims: dict[int, Claiming] = {}
    for each in since:
        claims.setdefault(number(each), each)
    return claims[max(claims)] if claims else mine


def keep_lease(mine: FlowStatus, seen: FlowStatus) -> None:
    """Raise FlowTaken when a record that came while we drive shows that we no longer may."""
    if seen.generation > mine.generation:
        raise taken_by(seen)


def taken_by(other: FlowStatus) -> FlowTaken:
    """Return the error that names the other driver."""
    since = format_moment(other.started_ms)
    return FlowTaken(
        f"flow {other.flow} is copied by another driver: process {other.pid} on "
        f"{other.host}, since {since} UTC (generation {other.generation}). Stop that driver "
        "first, or do not start this one"
    )
