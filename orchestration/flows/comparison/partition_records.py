"""The records of one partition that are compared with their copies, and their fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from replication.model import OffsetRange
from replication.provenance.record_headers import ORIGIN
from replication.records.comparison_result import Fingerprint, fingerprint
from replication.records.keyed_log import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestration.flows.comparison.compared_partition import Work
    from replication.adapters.topics.record_reader import ConsumedRecord, RecordReader
    from replication.model import TopicPartition

    Concerns = Callable[[ConsumedRecord], bool]

_PROGRESS_EVERY = 1_000  # records between two calls of ``progress``


def every(_: ConsumedRecord) -> bool:
    """Say that a record counts."""
    return True


@dataclass(slots=True)
class PartitionRecords:
    """Selects a partition's records on both sides, and counts what it leaves out of them."""

    work: Work
    concerns: Concerns = every  # of either side: other records are skipped
    copied: Concerns = every  # of the source: the flow copies it
    appended: Concerns = every  # of the target: the flow appended it
    timed: bool = True  # timestamps are compared
    parts: bool = False  # fingerprints tell which part of a record differs
    of_others: int = field(default=0, init=False)  # target records that the flow did not append
    origins: int = field(default=0, init=False)  # records whose provenance header was left out

    def of_source(
        self, reader: RecordReader, begin: int, progress: Callable[[int], object]
    ) -> Iterator[ConsumedRecord]:
        """Yield the source's records; ``progress`` gets the records read since its last call.

        Damaged ones that the copy passed over are not read.
        """
        unreported = 0
        work = self.work
        for record in chain.from_iterable(
            _read(reader, work.source, span)
            for span in OffsetRange(begin, work.source_end).without(work.copied.damaged)
        ):
            if self.concerns(record) and self.copied(record):
                yield record
            unreported += 1
            if unreported == _PROGRESS_EVERY:
                progress(unreported)
                unreported = 0
        progress(unreported)

    def of_target(self, reader: RecordReader, begin: int) -> Iterator[ConsumedRecord]:
        """Yield the target's records."""
        for record in _read(reader, self.work.target, OffsetRange(begin, self.work.target_end)):
            if not self.appended(record):
                self.of_others += 1
            elif self.concerns(record):
                yield record

    def plain(self, record: ConsumedRecord) -> Fingerprint:
        """Return a record's fingerprint, without the provenance header that a copy may have."""
        headers = [each for each in record.headers if each[0] != ORIGIN]
        self.origins += len(headers) != len(record.headers)
        time_ms = record.time[0] if self.timed else None
        digest = fingerprint(record.key, record.value, headers, time_ms)
        content = record.key, record.value, tuple(headers), time_ms
        return Fingerprint(record.offset, digest, tuple(map(hash, content)) if self.parts else ())

    def keyed(self, record: ConsumedRecord) -> Keyed:
        """Return the fingerprints of a record and its key."""
        offset, digest, _ = self.plain(record)
        key = digest if record.key is None else fingerprint(record.key, None, (), None)
        return Keyed(offset, key, digest, record.value is None)


def _read(
    reader: RecordReader, partition: TopicPartition, span: OffsetRange
) -> Iterator[ConsumedRecord]:
    begin, end = span
    if end > begin:  # otherwise the partition may not exist
        yield from reader.read(partition, end, begin)
