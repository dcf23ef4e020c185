"""Records as Arrow columns: what SQL and functions see, and what comes back from them.

Columns have the names and types of Spark's own Kafka source. For SQL each record has a number in
its task as well: what SQL made of it is found by that. The numbers of records that cannot be
transformed have a reason above them (``REASONS``), and so have rows that are no records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt


ROW = "isthmus_row"
REASON_BIT = 48  # the numbers of records are below
FAILED, BAD_KEY, BAD_VALUE, MEMORY, END = (each << REASON_BIT for each in range(1, 6))
REASONS = {
    FAILED: "SQL fails on it",  # Spark does not say more
    BAD_KEY: "the key is not valid JSON",
    BAD_VALUE: "the value is not valid JSON, or has another type than value.schema",
}
# Rows that are no records: MEMORY says where the process that writes finds the records, END how
# many there were, so that it has all.
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
MILLISECONDS = pa.timestamp("ms", tz="UTC")
TIMESTAMP = pa.timestamp("us", tz="UTC")

RECORDS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
    ]
)
_DDL = {
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key: string, value: binary>>",
}


def rows_ddl(names: Iterable[str]) -> str:
    """Return the schema of what SQL is given, if it needs these columns."""
    return ", ".join((f"{ROW} long", *(f"{each} {_DDL[each]}" for each in names)))


def nameless(headers: pa.ListArray) -> list[int]:
    """Return the rows with a header that Kafka does not take."""
    names = headers.flatten().flatten()[0]
    if not names.null_count:
        return []
    found: list[int] = pc.list_parent_indices(headers).filter(names.is_null()).to_pylist()
    return found


def headers_of(listed: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of one cell."""
    return tuple((each["key"], each["value"]) for each in listed or ())


def times_of(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return timestamps in ms; -1 where there is none."""
    micros = pc.fill_null(column.cast(TIMESTAMP).cast(pa.int64()), -1)
    found: npt.NDArray[np.int64] = micros.to_numpy(zero_copy_only=False)
    return found // 1000
