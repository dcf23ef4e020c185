"""The states and losses of partitions as operators see them, the same in every view. Pure.

Anchors say what a unit saw last. While a flow is paused there is no unit, and topics that are not
copied any more have none: what they are then, is said here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.durations import format_moment
from replication.model import ABSENT, NEEDS_NO_ACTION, PartitionState
from replication.settings.state_policies import CHOICES, STOP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.settings.state_policies import Policies
    from replication.state import Anchor, Loss

_RESTS = frozenset({PartitionState.RUNNING, PartitionState.WAITING})
_SHOWN = 3  # topics of one state
RECENT = timedelta(hours=1)  # how long a loss fails the check, so that it is not missed


def paused(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Return the anchors of a paused flow: what would be copied is PAUSED, what halted stays so."""
    return tuple(
        replace(each, state=PartitionState.PAUSED, reason="") if each.state in _RESTS else each
        for each in anchors
    )


def needing_no_action(policies: Policies) -> frozenset[str]:
    """Return the states in which nobody has to do anything, as a flow's policies say."""
    if policies.source_deleted == STOP:
        return NEEDS_NO_ACTION
    return NEEDS_NO_ACTION | {PartitionState.SOURCE_DELETED}


def needs_somebody(state: str) -> bool:
    """Say whether a partition in this state waits for a person: it does not heal by itself."""
    return state in CHOICES or state in ABSENT - NEEDS_NO_ACTION


def worst(anchors: Sequence[Anchor]) -> Anchor:
    """Return the first partition that is not as wanted, else one not RUNNING, else the first."""
    odd = [each for each in anchors if each.state != PartitionState.RUNNING]
    bad = (each for each in odd if each.state not in NEEDS_NO_ACTION)
    return next(bad, odd[0] if odd else anchors[0])


def by_state(topics: Iterable[tuple[str, str]], reasons: Mapping[str, str] | None = None) -> str:
    """Return topics in words, each given with its state: ``REFUSED: orders; WAITING: a, b``.

    ``reasons``: why the first topic of a state is in it.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for topic, state in topics:
        found[state].append(topic)
    whys = {state: f" ({why})" for state, why in (reasons or {}).items() if why}
    return "; ".join(f"{each}: {_few(found[each])}{whys.get(each, '')}" for each in sorted(found))


def _few(topics: list[str]) -> str:
    more = len(topics) - _SHOWN
    return ", ".join(topics[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def loss_summary(losses: Sequence[Loss], now_ms: int) -> tuple[bool, str]:
    """Return whether nothing was lost of late, and a sentence. ``losses``: the newest last."""
    recent = [each for each in losses if now_ms - each.at_ms < RECENT / timedelta(milliseconds=1)]
    if not recent:
        return True, f"no loss in the last hour; {len(losses)} losses recorded"
    more = f", and {len(recent) - 1} more" if len(recent) > 1 else ""
    return False, f"{describe_loss(recent[-1])}{more}; `isthmus losses FILE` lists all"


def describe_loss(loss: Loss) -> str:
    """Return one loss in one line."""
    span = f" offsets [{loss.first}, {loss.next})" if loss.next > loss.first else ""
    at = format_moment(loss.at_ms)
    return f"{at} {loss.topic}-{loss.partition}{span} {loss.state}: {loss.reason}"
