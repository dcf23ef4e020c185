"""Records in memory that the two processes of a task share: they do not pass through the JVM.

The reading process writes them into a file of memory (``memfd_create``), the writing one finds it
by the other one's pid and the number in its name. When both have ended, however, it is free.

Spark gives a process that has read its records to another task, also while the one that writes is
still starting. So no descriptor tells whose memory it is: its number soon is another file's.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from replication.errors import ClusterUnavailable, EnvironmentProblem
from spark_jobs.transform.columns.encoded_records import EncodedRecords

if TYPE_CHECKING:
    import numpy.typing as npt

    from spark_jobs.transform.columns.record_kinds import Kinds

_HEAD = (
    4  # numbers before a chunk: of its range, of its records, its bytes, and whether it has kinds
)
_PROBLEM = -1  # instead of a range
_NUMBER_BITS = 20
_KEPT = 16  # memories of a process; those that were given back are empty
_numbers = itertools.count()
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
        self._number = next(_numbers) % (1 << _NUMBER_BITS)
        self._file = os.fdopen(os.memfd_create(_name(self._number)), "wb")
        self.count = 0  # of records; a problem counts too, so that none is overlooked

    @property
    def place(self) -> int:
        """A number by which the other process finds the memory."""
        return os.getpid() << _NUMBER_BITS | self._number

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
        text, self.count = problem.encode(), self.count + 1
        self._file.write(np.array([_PROBLEM, 0, len(text), 0], np.int64).data)
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def shared_records() -> SharedRecords:
    """Return memory for a task. That of former ones is kept: their writers may not have begun."""
    while len(_here) >= _KEPT:
        _here.pop(0).close()
    _here.append(SharedRecords())
    return _here[-1]


def _name(number: int) -> str:
    return f"isthmus-records-{number}"


class SharedRecordReader:
    """What the writing process of a task reads, one chunk after the other.

    Raises EnvironmentProblem if the memory is gone. ``count``: of the records in the chunks so far.
    """

    def __init__(self, place: int) -> None:
        self._file = _opened(place >> _NUMBER_BITS, _name(place & (1 << _NUMBER_BITS) - 1))
        self._at = self.count = 0

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
        found = Chunk(number, self.count, records, likes)
        self._at, self.count = at + fixed + size, self.count + count
        return found

    def close(self) -> None:
        """Give the memory back, which the other process holds open."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def _opened(pid: int, name: str) -> int:
    """Open the memory of this name of another process. Raises EnvironmentProblem: it is gone."""
    content = Path(f"/memfd:{name} (deleted)")
    try:
        for each in Path(f"/proc/{pid}/fd").iterdir():
            if _content(each) != content:
                continue
            file = os.open(each, os.O_RDWR)
            if _content(Path(f"/proc/self/fd/{file}")) == content:
                return file
            os.close(file)  # that descriptor became another file's
    except OSError:  # its process has ended, or gave the memory back at this moment
        pass
    raise EnvironmentProblem("the records of a task are gone from memory: the batch is tried again")


def _content(link: Path) -> Path | None:
    """Return what a descriptor leads to; None: it has been closed."""
    try:
        return link.readlink()
    except FileNotFoundError:
        return None
