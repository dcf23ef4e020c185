"""Decides the delivery mode of each topic: append, or transactional where it is compacted.

Offsets in append mode are found by counting records, which compaction removes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from replication.errors import ReplicationError
from replication.model import Mode
from replication.naming.selection import listed
from replication.planning.topic_configs import mode_for, policy_of
from replication.planning.topic_plan import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from replication.client.admin import ClusterAdmin
    from replication.model import PartitionPlan
    from replication.planning.topic_configs import Settings

_BROKERS = "LogAppendTime"
_READ_EVERY_S = 30.0  # a topic may become compacted at any time


@dataclass(slots=True)
class DeliveryModes:
    """The modes of one flow's topics, by its ``copy.delivery``.

    Configs are read when a topic is new and every 30 s: the plan is made every few seconds. They
    are read for each ``copy.delivery``, as they also say whose time the copies' records get.
    """

    delivery: str = "auto"
    missing_guarantees: Callable[[], str] = str  # that appends need and the target lacks
    retimed: tuple[
        str, ...
    ] = ()  # target topics with the broker's append time, where the source has the record's
    unseen: str = ""  # whose configs cannot be read, and what follows from that
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _read_at: float = 0.0

    def of(
        self, pairs: Iterable[tuple[str, str]], source: ClusterAdmin, target: ClusterAdmin
    ) -> Mapping[tuple[str, str], str]:
        """Return the mode of each (source topic, target topic)."""
        planned = set(pairs)
        is_chosen = self.delivery != "auto"
        if planned - self._known.keys() or time.monotonic() >= self._read_at:
            try:
                self._read(planned, source, target)
            except ReplicationError:
                if not is_chosen:
                    raise
                # Only a remark depends on it: nothing fails, and the next plan does not wait again.
                self._known |= dict.fromkeys(planned, self.delivery)
                self._read_at = time.monotonic() + _READ_EVERY_S
        if is_chosen:
            return dict.fromkeys(planned, self.delivery)
        if self.missing_guarantees():
            return dict.fromkeys(planned, Mode.TRANSACTIONAL)
        return self._known

    def _read(
        self, planned: set[tuple[str, str]], source: ClusterAdmin, target: ClusterAdmin
    ) -> None:
        theirs = source.topic_settings({here for here, _ in planned})
        ours = target.topic_settings({there for _, there in planned})
        self._known = {
            each: mode_for(policy_of(theirs, each[0]), policy_of(ours, each[1])) for each in planned
        }
        retimed = (there for here, there in planned if _replaces_time(theirs, here, ours, there))
        self.retimed = tuple(sorted(retimed))
        if self.delivery == "auto":
            self.unseen = next(chain(_unseen(theirs, "source"), _unseen(ours, "target")), "")
        self._read_at = time.monotonic() + _READ_EVERY_S


def _replaces_time(theirs: Settings, here: str, ours: Settings, there: str) -> bool:
    """Return whether the target sets its append time on records that have a time at the source."""
    return not _is_append_time(theirs, here) and _is_append_time(ours, there)


def _is_append_time(settings: Settings, topic: str) -> bool:
    found = settings.get(topic, {}).get("message.timestamp.type")
    return found is not None and found.value == _BROKERS


def append_time_notice(topics: Sequence[str]) -> str:
    """Return the remark on topics on which the target sets its append time. Pure."""
    if not topics:
        return ""
    return (
        f"records of {listed(topics, 1)} get the target's append time "
        f"(message.timestamp.type={_BROKERS})"
    )


def _unseen(settings: Settings, side: str) -> Iterator[str]:
    if hidden := sorted(topic for topic, found in settings.items() if not found):
        more = f" and {len(hidden) - 1} more" if hidden[1:] else ""
        yield (
            f"{unseen('configs', hidden[0], f'the {side}')}{more}; they may be compacted, so they "
            "are copied in transactions"
        )


def notice(partitions: Iterable[PartitionPlan], missing_guarantees: str = "") -> str:
    """Return the remark on how partitions are copied; empty: as usual. Pure.

    ``missing_guarantees``: those that appends need and the target lacks.
    """
    count = sum(each.mode == Mode.TRANSACTIONAL for each in partitions)
    what = "partition uses" if count == 1 else "partitions use"
    message = (
        f"{count} {what} transactions: exactly-once for read_committed consumers" if count else ""
    )
    if missing_guarantees:
        delivery = message or "produce requests may repeat records after a crash"
        message = f"{delivery}; target limitation: {missing_guarantees}"
    return message


def at_least_once_notice(count: int, flow: str, *, configured: bool) -> str:
    """Return the remark on ``count`` partitions that are copied at least once. Pure."""
    if not count:
        return ""
    reason = (
        "set by copy.delivery"
        if configured
        else "the target does not grant transactional ids "
        f"(WRITE and DESCRIBE on the TransactionalId isthmus.{flow}, prefixed)"
    )
    return f"{count} partition{'s' if count > 1 else ''} at least once: {reason}"
