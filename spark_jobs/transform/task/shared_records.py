"""Records in memory that the two processes of a task share: they do not pass through the JVM.

The reading process writes them into a file without a name (``memfd_create``), the writing one opens
that by the other one's number and descriptor. When both have ended, however, the memory is free.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from replication.errors import ClusterUnavailable
from spark_jobs.transform.columns.encoded_records import EncodedRecords

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_jobs.transform.columns.record_kinds import Kinds

_HEAD = (
    4  # numbers before a chunk: of its range, of its records, its bytes, and whether it has kinds
)
_PROBLEM = -1  # instead of a range
_FD_BITS = 20
_here: list[SharedRecords] = []


class Chunk(NamedTuple):
    """Some records of one range; SQL knows them by their numbers in the task, from ``first`` on."""

    number: int  # of the range in its task
    first: int
    records: EncodedRecords
    # For each record the place of the one that SQL was given for it; None: each for itself.
    likes: npt.NDArray[np.int32] | None = None

    @property
    def end(self) -> int:
        return self.first + len(self.records)


class SharedRecords:
    """What the reading process of a task writes."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.memfd_create("isthmus-records"), "wb")
        self.count = 0

    @property
    def place(self) -> int:
        """A number by which the other process finds the memory."""
        return os.getpid() << _FD_BITS | self._file.fileno()

    def add(self, number: int, records: EncodedRecords, kinds: Kinds | None = None) -> int:
        """Add records of a range; return the number of the first one in the task."""
        first, self.count = self.count, self.count + len(records)
        start, end = int(records.bounds[0][0]), int(records.bounds[3][-1])
        head = np.array([number, len(records), end - start, kinds is not None], np.int64)
        bounds = records.bounds - np.int32(start)
        likes = [] if kinds is None else [kinds.firsts[kinds.of].astype(np.int32)]
        for each in (head, records.offsets, records.times, bounds, *likes):
            self._file.write(np.ascontiguousarray(each).data)
        self._file.write(memoryview(records.data)[start:end])
        self._file.flush()
        return first

    def fail(self, problem: str) -> None:
        """Say why no further records come; the other process raises that."""
        text = problem.encode()
        self._file.write(np.array([_PROBLEM, 0, len(text), 0], np.int64).data)
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def shared_records() -> SharedRecords:
    """Return memory for a task; that of the process' task before is given back."""
    while _here:
        _here.pop().close()
    _here.append(SharedRecords())
    return _here[0]


class SharedRecordReader:
    """What the writing process of a task reads, one chunk after the other."""

    def __init__(self, place: int) -> None:
        path = f"/proc/{place >> _FD_BITS}/fd/{place & (1 << _FD_BITS) - 1}"
        self._file = os.open(path, os.O_RDWR)
        self._at = self._count = 0

    def chunk(self) -> Chunk | None:
        """Return the next chunk; None: there is none yet. Raises ClusterUnavailable."""
        head = os.pread(self._file, _HEAD * 8, self._at)
        if not head:
            return None
        number, count, size, has_kinds = np.frombuffer(head, np.int64).tolist()
        plain, at = 32 * count, self._at + _HEAD * 8
        fixed = plain + 4 * count * has_kinds
        content = memoryview(os.pread(self._file, fixed + size, at))
        if number == _PROBLEM:
            raise ClusterUnavailable(bytes(content).decode())
        numbers = np.frombuffer(content[: 16 * count], np.int64)
        bounds = np.frombuffer(content[16 * count : plain], np.int32).reshape(4, count)
        likes = np.frombuffer(content[plain:fixed], np.int32) if has_kinds else None
        records = EncodedRecords(content[fixed:], numbers[:count], numbers[count:], bounds)
        found = Chunk(number, self._count, records, likes)
        self._at, self._count = at + fixed + size, self._count + count
        return found

    def close(self) -> None:
        """Give the memory back, which the other process holds open."""
        os.ftruncate(self._file, 0)
        os.close(self._file)
