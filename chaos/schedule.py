"""Draws the schedule of faults from a seed. Pure: the same seed, the same schedule."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Side(StrEnum):
    """One of the two clusters."""

    SOURCE = "source"
    TARGET = "target"


class FaultKind(StrEnum):
    """What happens, as it is printed."""

    KILL_WORKER = "SIGKILL of a Python worker"
    KILL_JVM = "SIGKILL of the JVM"
    KILL_DRIVER = "SIGKILL of the driver"
    KILL_WATCHER = "SIGKILL of watcher and driver"
    FREEZE_WORKER = "SIGSTOP of the Python workers"
    FREEZE_DRIVER = "SIGSTOP of the driver"
    SECOND_DRIVER = "a second driver"
    STOP_BROKER = "clean restart of a broker"
    KILL_BROKER = "SIGKILL of a broker"
    OUTAGE = "outage of the whole cluster"
    SLOW = "slow and lossy network"
    BLOCK = "network lets nothing through"
    STRAND = "connections half open"
    CUT = "connections reset"
    GROW = "a topic gets a partition"
    MOVE_LEADERS = "leaders move"
    COMPACT = "a topic is compacted for a while"
    EXPIRE_STATE = "a state topic has retention for a while"
    LOSE_STATE = "a state topic loses its oldest records"
    DELETE_STATE = "a state topic is deleted"
    FREEZE_SESSION = "SIGSTOP of driver, JVM and workers while another driver starts"
    SWAP = "the address leads to the other cluster"
    PAUSE = "an operator pauses or stops the flow"


class ScheduledFault(NamedTuple):
    """One fault. ``pick`` chooses among whatever is there then: a broker, a topic, a process."""

    at_s: float  # after the start
    kind: FaultKind
    side: Side | None  # None: it is no cluster's
    for_s: float
    pick: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A whole run."""

    seed: int
    brokers: int  # of each cluster
    forgetful: bool  # whether the target soon forgets the ids of producers that are silent
    faults: tuple[ScheduledFault, ...]


class _Draw(NamedTuple):
    weight: int
    least_s: float
    most_s: float
    sides: tuple[Side | None, ...] = (None,)
    brokers: int = 1  # the fewest a cluster must have


_BOTH = (Side.SOURCE, Side.TARGET)
_DRAWS = {
    FaultKind.KILL_WORKER: _Draw(6, 0, 0),
    FaultKind.KILL_JVM: _Draw(3, 0, 0),
    FaultKind.KILL_DRIVER: _Draw(3, 0, 0),
    FaultKind.KILL_WATCHER: _Draw(2, 0, 10),
    FaultKind.FREEZE_WORKER: _Draw(3, 2, 20),
    FaultKind.FREEZE_DRIVER: _Draw(3, 2, 20),
    FaultKind.SECOND_DRIVER: _Draw(2, 0, 0),
    FaultKind.STOP_BROKER: _Draw(4, 0, 10, _BOTH),
    FaultKind.KILL_BROKER: _Draw(5, 0, 15, _BOTH),
    FaultKind.OUTAGE: _Draw(2, 5, 60, _BOTH),
    FaultKind.SLOW: _Draw(3, 5, 40, _BOTH),
    FaultKind.BLOCK: _Draw(3, 2, 45, _BOTH),
    FaultKind.STRAND: _Draw(4, 0, 0, _BOTH),
    FaultKind.CUT: _Draw(4, 0, 0, _BOTH),
    FaultKind.GROW: _Draw(3, 0, 0, (Side.SOURCE,)),
    FaultKind.MOVE_LEADERS: _Draw(4, 0, 0, _BOTH, 3),
    FaultKind.COMPACT: _Draw(3, 15, 60, _BOTH),
    FaultKind.EXPIRE_STATE: _Draw(2, 10, 45, (Side.TARGET,)),
    FaultKind.LOSE_STATE: _Draw(4, 0, 5, (Side.TARGET,)),
    FaultKind.DELETE_STATE: _Draw(2, 0, 5, (Side.TARGET,)),
    FaultKind.FREEZE_SESSION: _Draw(2, 35, 60),
    FaultKind.SWAP: _Draw(3, 5, 40, (Side.SOURCE,)),
    FaultKind.PAUSE: _Draw(5, 0, 6),
}
_FORGETFUL = 0.5  # of all seeds: takeovers from forgotten ids wait, so fewer faults have effect
_FIRST_S = 3.0
_PAUSE_S = (0.5, 16.0)  # between the beginnings of two faults: some overlap
_QUIET_S = 5.0  # at the end, for what began last


def draw(seed: int, minutes: float, brokers: int | None = None) -> Schedule:
    """Return the schedule of a seed. ``brokers`` wins over the seed's choice of 1 or 3."""
    chance = random.Random(seed)
    chosen = chance.choice((1, 3))
    count, forgetful = brokers or chosen, chance.random() < _FORGETFUL
    end_s, at_s = minutes * 60 - _QUIET_S, _FIRST_S
    faults = []
    while at_s < end_s:
        faults.append(_fault(chance, at_s, end_s - at_s, count))
        at_s += chance.uniform(*_PAUSE_S)
    return Schedule(seed, count, forgetful, tuple(faults))


def _fault(chance: random.Random, at_s: float, longest_s: float, brokers: int) -> ScheduledFault:
    kinds = [kind for kind, its in _DRAWS.items() if its.brokers <= brokers]
    (kind,) = chance.choices(kinds, [_DRAWS[each].weight for each in kinds])
    drawn = _DRAWS[kind]
    for_s = min(chance.uniform(drawn.least_s, drawn.most_s), longest_s)
    side = chance.choice(drawn.sides)
    return ScheduledFault(round(at_s, 1), kind, side, round(for_s, 1), chance.randrange(1 << 16))
