"""What comes from SQL, chunk by chunk: the rows, and the records that they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from spark_jobs.transform.columns.record_columns import END, MEMORY, REASON_BIT, ROW
from spark_jobs.transform.task.shared_records import SharedRecordReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from spark_jobs.transform.task.shared_records import Chunk

    Taken = tuple[Chunk, pa.RecordBatch]

_PLACE = (1 << REASON_BIT) - 1


class SqlStream:
    """The results of a task; ``is_whole`` when all came, and not only a part before a failure.

    All came when the end did, and as many records as it says were in memory.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self._records: SharedRecordReader | None = None
        self._chunk: Chunk | None = None
        self._rows: list[pa.RecordBatch] = []

    def chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Taken]:
        """Yield each chunk of records, in order, with all of its rows, perhaps none."""
        for batch in batches:
            coded = batch.column(ROW).to_numpy()
            if not len(coded):
                continue
            if self._records is None:
                self._records = SharedRecordReader(int(coded[0]) - MEMORY)
                batch, coded = batch.slice(1), coded[1:]  # noqa: PLW2901 - its other rows
            is_end = bool(len(coded) and coded[-1] >= END)
            yield from self._begun(self._records, batch.slice(0, len(coded) - is_end))
            if is_end:
                yield from self._rest(self._records, batch.slice(0, 0))
                self.is_whole = self._records.count == coded[-1] - END

    def close(self) -> None:
        """Give the memory of the records back."""
        if self._records is not None:
            self._records.close()

    def _begun(self, records: SharedRecordReader, batch: pa.RecordBatch) -> Iterator[Taken]:
        """Yield the chunks that have no further rows: those before the one of the last row."""
        places, begin = batch.column(ROW).to_numpy() & _PLACE, 0
        while begin < len(places):
            self._chunk = self._chunk or records.chunk()
            if self._chunk is None:
                raise RuntimeError("a row of SQL is of no record")
            end = begin + int(np.searchsorted(places[begin:], self._chunk.end))
            self._rows.append(batch.slice(begin, end - begin))
            begin = end
            if begin < len(places):
                yield self._taken(self._chunk)

    def _rest(self, records: SharedRecordReader, no_rows: pa.RecordBatch) -> Iterator[Taken]:
        while (chunk := self._chunk or records.chunk()) is not None:
            self._rows.append(no_rows)
            yield self._taken(chunk)

    def _taken(self, chunk: Chunk) -> Taken:
        rows = pa.concat_batches(self._rows)
        self._chunk, self._rows = None, []
        return chunk, rows if chunk.likes is None else _spread(chunk, chunk.likes, rows)


def _spread(chunk: Chunk, likes: npt.NDArray[np.int32], rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of all records from those of the records that SQL was given for them."""
    coded = rows.column(ROW).to_numpy()
    places = (coded & _PLACE) - chunk.first
    row_of = np.full(len(likes), -1)
    row_of[places] = np.arange(len(places))
    of_records = row_of[likes]
    kept = np.flatnonzero(of_records >= 0)
    taken = of_records[kept]
    numbers = pa.array((coded - places)[taken] + kept)
    if rows.num_columns == 1:
        return pa.RecordBatch.from_arrays([numbers], schema=rows.schema)
    return rows.take(pa.array(taken)).set_column(0, rows.schema.field(0), numbers)
