"""Fetch sessions (KIP-227) and the options of a Fetch request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import IsolationLevel

if TYPE_CHECKING:
    from replication.client.fetch_values import FetchEntry, FetchKey

_LAST_EPOCH = (1 << 31) - 1


@dataclass(slots=True)
class FetchSession:
    """A fetch session at one broker. While it is ``fresh`` a request has to name all partitions.

    A full request that carries the id of a former session closes that one at the broker.
    """

    id: int = 0
    epoch: int = 0  # of the next request; 0 opens a session
    turn: int = 0  # counts restarts: a response to a request of an earlier turn is void
    forgotten: dict[FetchKey, None] = field(default_factory=dict)  # to remove with the next request

    @property
    def fresh(self) -> bool:
        return self.epoch == 0

    def restart(self) -> None:
        """Start a new session: it is unknown how the broker handled the last request."""
        self.epoch = 0
        self.turn += 1
        self.forgotten.clear()

    def forget(self, key: FetchKey) -> None:
        """Remove a partition (topic id, number); a fresh session has none."""
        if not self.fresh:
            self.forgotten[key] = None

    def name(self, entry: FetchEntry) -> FetchEntry:
        """Add a partition, and do not forget it: the broker would remove it after adding it."""
        self.forgotten.pop((entry.topic_id, entry.partition), None)
        return entry

    def answered(self, number: int) -> None:
        """Note a successful response. A broker that keeps no session for us answers number 0."""
        self.id = number
        self.forgotten.clear()
        self.epoch = 0 if number == 0 else self.epoch % _LAST_EPOCH + 1

    def refused(self) -> None:
        """Note that the broker does not know the session, or expected another session epoch."""
        self.id = 0
        self.restart()


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """The options of a Fetch; see Kafka's FetchRequest."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 16 << 20  # of the response; its first batch may be larger
    partition_bytes: int = 4 << 20
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    rack: str = ""
    session: FetchSession | None = None  # None: the request stands alone
    line: str = "fetch"  # name of its connection: requests behind a long poll would wait
