"""Adds the rows that SQL returned to the outcome, each with its topic and its partition.

Results name the number of their record in the task, with a reason above it if it cannot be
transformed (``record_columns.REASONS``). What they have no column for stays as it is at the source:
``key``, ``value``, ``headers`` and ``timestamp`` are there if SQL makes them. ``routes`` is there
only if SQL routes: null, or an array whose null members are the default topic; ``target_partition``
only if SQL decides on it: null means that the key does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replication.transforms.transformed_record import (
    BY_KEY,
    SAME_PARTITION,
)
from spark_jobs.transform.columns.encoded_batches import joined, listed, sized
from spark_jobs.transform.columns.encoded_records import PARTS
from spark_jobs.transform.columns.record_columns import (
    REASON_BIT,
    REASONS,
    ROW,
    nameless,
    times_of,
)
from spark_jobs.transform.task.target_rows import TargetRows, misplaced, put

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_jobs.transform.columns.encoded_records import EncodedRecords
    from spark_jobs.transform.task.range_outcome import RangeOutcome

    Numbers = npt.NDArray[np.int64]

ROUTES, PARTITION = "routes", "target_partition"
_NAMELESS = "SQL made a header without a name"
_NUMBER = (1 << REASON_BIT) - 1


def take_results(
    outcome: RangeOutcome, records: EncodedRecords, rows: pa.RecordBatch, first: int = 0
) -> None:
    """Take the rows of these records, in order; a record is written as a whole or not at all.

    ``first``: the number of the first of the records.
    """
    if outcome.halted is not None or not len(records):
        return
    outcome.read += len(records)
    coded = rows.column(ROW).to_numpy()
    places = (coded & _NUMBER) - first
    bad = misplaced(_routes(outcome, rows), _partition_numbers(rows), outcome.slot.partitions)
    bad |= {**_nameless(rows), **_reasons(coded)}
    known = _known(outcome, records)
    good = outcome.note(records, {int(places[row]): why for row, why in bad.items()} | known)
    if not good.all():
        rows, places = rows.filter(pa.array(good[places])), places[good[places]]
    put(outcome, _target_rows(outcome, records, rows, places))


def _target_rows(
    outcome: RangeOutcome, records: EncodedRecords, rows: pa.RecordBatch, places: Numbers
) -> TargetRows:
    names, numbers, keys = rows.schema.names, _partition_numbers(rows), None
    if "key" in names:
        keys = rows.column("key")
    elif np.any(numbers == BY_KEY):
        keys = records.keys(places)
    times = times_of(rows.column("timestamp")) if "timestamp" in names else records.times[places]
    rests, sources = _rests(records, rows, places), records.offsets[places]
    return TargetRows(_routes(outcome, rows), numbers, times, rests, keys, sources)


def _known(outcome: RangeOutcome, records: EncodedRecords) -> dict[int, str]:
    """Return which of the records are known as poison records: SQL was not given them."""
    offsets = records.offsets
    found = {}
    for offset, reason in outcome.work.poisons.items():
        place = int(np.searchsorted(offsets, offset))
        if place < len(offsets) and offsets[place] == offset:
            found[place] = reason
    return found


def _reasons(coded: Numbers) -> dict[int, str]:
    return {
        int(row): REASONS[int(coded[row]) & ~_NUMBER] for row in np.flatnonzero(coded > _NUMBER)
    }


def _nameless(rows: pa.RecordBatch) -> dict[int, str]:
    if "headers" not in rows.schema.names:
        return {}
    return dict.fromkeys(nameless(rows.column("headers")), _NAMELESS)


def _routes(outcome: RangeOutcome, rows: pa.RecordBatch) -> dict[str, Numbers]:
    """Return the rows for each topic, in order."""
    default = outcome.work.target.topic
    if ROUTES not in rows.schema.names or rows.column(ROUTES).null_count == rows.num_rows:
        return {default: np.arange(rows.num_rows)}
    found: dict[str, list[int]] = {}
    for row, listed_topics in enumerate(rows.column(ROUTES).to_pylist()):
        for topic in (None,) if listed_topics is None else listed_topics:
            found.setdefault(topic or default, []).append(row)
    return {topic: np.array(each, np.int64) for topic, each in found.items()}


def _partition_numbers(rows: pa.RecordBatch) -> Numbers:
    names = rows.schema.names
    if PARTITION not in names:
        return np.full(rows.num_rows, BY_KEY if "key" in names else SAME_PARTITION)
    filled = pc.fill_null(rows.column(PARTITION), BY_KEY)
    found: Numbers = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _rests(records: EncodedRecords, rows: pa.RecordBatch, places: Numbers) -> pa.BinaryArray:
    """Return what is to be written of each row, besides its time, as it is encoded."""
    if not {*PARTS} & {*rows.schema.names}:
        return records.rests(places)
    made = {"key": sized, "value": sized, "headers": listed}
    return joined(
        *(
            made[each](rows.column(each))
            if each in rows.schema.names
            else records.part(each, places)
            for each in PARTS
        )
    )
