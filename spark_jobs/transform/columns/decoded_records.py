"""The records of some batches, and columns of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from replication.errors import CorruptBatch
from replication.records.record_fields import fields_of
from replication.transforms.transformed_record import SourceRecord
from spark_jobs.transform.columns.encoded_records import PARTS, EncodedRecords
from spark_jobs.transform.columns.header_parts import header_parts
from spark_jobs.transform.columns.record_columns import (
    HEADERS,
    MILLISECONDS,
    RECORDS,
    TIMESTAMP,
    headers_of,
)
from spark_jobs.transform.columns.sized_parts import Parts, valued

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from replication.model import TopicPartition
    from replication.records.batch import Batch
    from spark_jobs.transform.columns.sized_parts import Numbers


@dataclass(frozen=True, slots=True)
class DecodedRecords:
    """The records of some batches, in order, in one buffer."""

    batches: Sequence[Batch]
    where: object
    data: bytes
    offsets: Numbers
    times: Numbers  # ms; -1: none
    rests: Parts  # key, value and headers as they are encoded
    keys: Parts
    values: Parts
    header_counts: Numbers
    header_starts: Numbers

    def __len__(self) -> int:
        return len(self.offsets)

    def columns(self, names: Iterable[str]) -> dict[str, pa.Array]:
        """Return ``offset``, ``timestamp``, ``key``, ``value`` or ``headers`` as Arrow columns.

        Raises CorruptBatch for damaged headers.
        """
        try:
            return {each: self._column(each) for each in names}
        except IndexError:
            raise damage(self.batches, self.where) from None

    def seen(self, where: TopicPartition, names: Sequence[str] = RECORDS.names) -> pa.RecordBatch:
        """Return the records, which are of this partition, as columns of RECORDS.

        Raises CorruptBatch for damaged headers.
        """
        found = self.columns(each for each in names if each not in ("topic", "partition"))
        found["topic"] = pa.repeat(pa.scalar(where.topic), len(self))
        found["partition"] = pa.repeat(pa.scalar(where.partition, pa.int32()), len(self))
        schema = pa.schema([RECORDS.field(each) for each in names])
        return pa.RecordBatch.from_arrays([found[each] for each in names], schema=schema)

    def singles(self, names: Collection[str] = PARTS) -> list[SourceRecord]:
        """Return the records one by one; parts that are not named are left out.

        Raises CorruptBatch for damaged headers.
        """
        none = [None] * len(self)
        found = {name: each.to_pylist() for name, each in self.columns(names).items()}
        keys, values, headers = (found.get(each, none) for each in PARTS)
        listed = map(headers_of, headers)
        places = self.offsets.tolist(), self.times.tolist()
        return list(starmap(SourceRecord, zip(*places, keys, values, listed, strict=True)))

    def between(self, first: int, end: int) -> DecodedRecords:
        """Return the records with offsets from ``first`` to ``end``."""
        kept = np.flatnonzero((self.offsets >= first) & (self.offsets < end))
        return self if len(kept) == len(self) else self.at(kept)

    def at(self, places: Numbers) -> DecodedRecords:
        """Return the records at these places, which ascend."""
        rests, keys, values = (
            Parts(each.starts[places], each.lengths[places])
            for each in (self.rests, self.keys, self.values)
        )
        return replace(
            self,
            offsets=self.offsets[places],
            times=self.times[places],
            rests=rests,
            keys=keys,
            values=values,
            header_counts=self.header_counts[places],
            header_starts=self.header_starts[places],
        )

    @property
    def encoded(self) -> EncodedRecords:
        """The same records as they are encoded."""
        listed = (self.rests.starts, self.keys.ends, self.values.ends, self.rests.ends)
        bounds = np.array(listed, np.int32)
        return EncodedRecords(self.data, self.offsets, self.times, bounds)

    def _column(self, name: str) -> pa.Array:
        if name == "offset":
            return pa.array(self.offsets)
        if name == "timestamp":
            return pa.array(self.times).cast(MILLISECONDS).cast(TIMESTAMP)
        if name == "headers":
            return self._headers()
        parts = {"key": self.keys, "value": self.values}[name]
        return valued(self.data, parts)

    def _headers(self) -> pa.ListArray:
        names, values, ends = header_parts(self.data, self.header_counts, self.header_starts)
        has_some = self.header_counts > 0
        if not np.array_equal(ends[has_some], self.rests.ends[has_some]):
            raise IndexError
        pairs = pa.StructArray.from_arrays(
            [_text(valued(self.data, names)), valued(self.data, values)],
            fields=list(HEADERS.value_type),
        )
        bounds = np.concatenate(([0], np.cumsum(self.header_counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(bounds), pairs, type=HEADERS)


def damage(batches: Sequence[Batch], where: object) -> CorruptBatch:
    """Return what is wrong with batches that cannot be decoded."""
    try:
        for each in batches:
            fields_of(each, where)
    except CorruptBatch as error:
        return error
    return CorruptBatch(f"reading {where} at offset {batches[0].base}: a record is damaged")


def _text(names: pa.BinaryArray) -> pa.StringArray:
    """Return names of headers as text; what is no UTF-8 has replacement characters."""
    try:
        return names.fill_null(b"").cast(pa.string())
    except pa.ArrowInvalid:
        listed = [(each or b"").decode(errors="replace") for each in names.to_pylist()]
        return pa.array(listed, pa.string())
