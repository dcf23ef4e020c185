"""The rows that SQL is given: records with their numbers, keys and values in Avro as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from replication.settings.transform_settings import AVRO
from spark_jobs.transform.columns.record_columns import FAILED, RECORDS, ROW

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.columns.avro_documents import AvroDocuments


def avro_sides(transform: TopicTransform) -> tuple[str, ...]:
    """Return which of ``key`` and ``value`` are Avro."""
    formats = {"key": transform.key_format, "value": transform.value_format}
    return tuple(side for side, kind in formats.items() if kind == AVRO)


def rows_of(
    numbers: npt.NDArray[np.int64],
    seen: pa.RecordBatch,
    sides: Iterable[str],
    documents: AvroDocuments,
) -> pa.RecordBatch:
    """Return records with their numbers; ``sides``: what is Avro.

    What cannot be decoded is marked as FAILED. Raises as ``AvroDocuments.column``.
    """
    numbers = numbers.copy()
    for side in sides:
        decoded, bad = documents.column(side, seen.column(side))
        seen = seen.set_column(seen.schema.get_field_index(side), RECORDS.field(side), decoded)
        numbers[[row for row in bad if numbers[row] < FAILED]] += FAILED
    # Without any column of theirs, records would have no rows.
    schema = pa.schema([(ROW, pa.int64()), *seen.schema])
    return pa.RecordBatch.from_arrays([pa.array(numbers), *seen.columns], schema=schema)


def marker(row: int, names: Iterable[str]) -> pa.RecordBatch:
    """Return a row that is no record."""
    schema = pa.schema([(ROW, pa.int64()), *(RECORDS.field(each) for each in names)])
    return pa.RecordBatch.from_pylist([{ROW: row}], schema=schema)
