"""How to ask a broker for data, and what it remembers of that: fetch sessions (KIP-227)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.client.fetch_values import FetchEntry, FetchKey

_LAST_EPOCH = (1 << 31) - 1


@dataclass(slots=True)
class FetchSession:
    """One of ours at one broker. While it is ``fresh`` a request has to name all partitions.

    A fresh request that carries the id of a former session closes that one at the broker.
    """

    id: int = 0
    epoch: int = 0  # of the next request; 0 opens a session
    turn: int = 0  # an answer to a request of a former turn tells nothing of this one
    forgotten: dict[FetchKey, None] = field(default_factory=dict)  # to tell next time

    @property
    def fresh(self) -> bool:
        return self.epoch == 0

    def restart(self) -> None:
        """Begin anew: it is not known what the broker made of the last request."""
        self.epoch = 0
        self.turn += 1
        self.forgotten.clear()

    def forget(self, key: FetchKey) -> None:
        """Take a partition (topic id, number) out; a fresh session has none in it."""
        if not self.fresh:
            self.forgotten[key] = None

    def name(self, entry: FetchEntry) -> FetchEntry:
        """Put a partition in: the broker takes out after it has put in, so not both at once."""
        self.forgotten.pop((entry.topic_id, entry.partition), None)
        return entry

    def answered(self, number: int) -> None:
        """Note a good answer. A broker that keeps no session for us says number 0."""
        self.id = number
        self.forgotten.clear()
        self.epoch = 0 if number == 0 else self.epoch % _LAST_EPOCH + 1

    def refused(self) -> None:
        """Note that the broker does not know the session, or expected another request of it."""
        self.id = 0
        self.restart()


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How to ask for data; see Kafka's FetchRequest."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 16 << 20  # of the response; its first batch may be larger
    partition_bytes: int = 4 << 20
    isolation: int = 0  # 1: read_committed
    rack: str = ""
    session: FetchSession | None = None  # None: the request stands alone
    line: str = "fetch"  # name of its connection: what may not wait for a long poll has another
