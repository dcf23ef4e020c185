"""Values of Fetch requests and responses, and the buffer that holds a response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.model import NO_LEADER_EPOCH
from replication.records.batch import refuse_legacy

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.records.aborted_filter import AbortedTransaction
    from replication.records.batch import LegacyFormats

FetchKey = tuple[bytes, int]  # topic id and number of a partition


class FetchEntry(NamedTuple):
    """One partition to fetch from, by topic id, so that a recreated topic does not match."""

    topic_id: bytes  # 16 bytes
    partition: int
    offset: int
    leader_epoch: int = NO_LEADER_EPOCH  # that we know
    last_epoch: int = NO_LEADER_EPOCH  # of the batch before ``offset``


class Leader(NamedTuple):
    """The leader of a partition, and its leader epoch."""

    node: int
    epoch: int


class EpochEndOffset(NamedTuple):
    """A leader epoch, and the offset after the last batch of it."""

    epoch: int
    end_offset: int


class Fetched(NamedTuple):
    """One partition of a Fetch response. ``records`` points into the fetch buffer."""

    topic_id: bytes
    partition: int
    error: int
    high_watermark: int
    stable: int  # last stable offset
    log_start: int
    aborted: list[AbortedTransaction]
    preferred_replica: int
    records: memoryview
    diverging: EpochEndOffset | None = None  # what the leader's log has instead of our last epoch
    leader: Leader | None = None  # when this broker no longer leads
    legacy: LegacyFormats = refuse_legacy  # reads messages of older formats in ``records``


@dataclass(slots=True)
class FetchBuffer:
    """A buffer with one fetch response in it, free again when its last holder releases it."""

    memory: bytearray = field(default_factory=bytearray)
    holders: int = 0
    on_free: Callable[[FetchBuffer], None] | None = None

    def view(self, size: int) -> memoryview:
        """Return ``size`` bytes to receive into; grows, never shrinks."""
        if size > len(self.memory):
            self.memory = bytearray(size + size // 4)
        return memoryview(self.memory)[:size]

    def hold(self) -> None:
        self.holders += 1

    def release(self) -> None:
        self.holders -= 1
        if self.holders == 0 and self.on_free is not None:
            self.on_free(self)
