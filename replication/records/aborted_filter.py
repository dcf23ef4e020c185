"""Which batches are not delivered: transaction markers, and those of aborted transactions. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.records.batch import Batch


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted, as a Fetch response names it."""

    producer_id: int
    first_offset: int


class AbortedFilter:
    """Drops batches of aborted transactions, as a ``read_committed`` consumer does (KIP-98).

    ``aborted`` is a Fetch response's list; pass the response's batches in order.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._upcoming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._open: set[int] = set()

    def keeps(self, batch: Batch) -> bool:
        """Say whether ``batch`` is deliverable: no marker and not aborted."""
        while self._upcoming and self._upcoming[-1].first_offset <= batch.last:
            self._open.add(self._upcoming.pop().producer_id)
        if batch.is_control:
            self._open.discard(batch.producer_id)
            return False
        return not (batch.is_transactional and batch.producer_id in self._open)
