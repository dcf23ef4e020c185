"""Records as they lie in decompressed batches: what a result takes over of them stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from replication.records.codec import BatchRecord, key_and_value

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Bounds = npt.NDArray[np.int32]

PARTS = ("key", "value", "headers")


@dataclass(frozen=True, slots=True)
class EncodedRecords:
    """Records in one buffer, in order; ``bounds``: see ``part``."""

    data: bytes | memoryview
    offsets: Numbers
    times: Numbers  # ms; -1: none
    bounds: Bounds  # four rows: where key, value and headers begin, and where the record ends

    def __len__(self) -> int:
        return len(self.offsets)

    def rests(self, places: Numbers) -> pa.BinaryArray:
        """Return key, value and headers of the records at ``places``, which ascend."""
        return gathered(self.data, self.bounds[0][places], self.bounds[3][places])

    def part(self, name: str, places: Numbers) -> pa.BinaryArray:
        """Return one of PARTS of the records at ``places``, which ascend, as it is encoded."""
        row = PARTS.index(name)
        return gathered(self.data, self.bounds[row][places], self.bounds[row + 1][places])

    def keys(self, places: Numbers) -> pa.BinaryArray:
        """Return the keys of the records at ``places``."""
        rests = self.rests(places).to_pylist()
        return pa.array([key_and_value(BatchRecord(0, 0, each))[0] for each in rests], pa.binary())


def gathered(data: bytes | memoryview, starts: Numbers, ends: Numbers) -> pa.BinaryArray:
    """Return what lies between ``starts`` and ``ends``, which ascend, as a column of its own."""
    count = len(starts)
    bounds = np.zeros(2 * count + 1, np.int32)  # each part, and what is between it and the next one
    bounds[0:-1:2], bounds[1::2] = starts, ends
    bounds[-1] = ends[-1] if count else 0
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.binary(), 2 * count, buffers)
    return every.take(pa.array(np.arange(0, 2 * count, 2)))
