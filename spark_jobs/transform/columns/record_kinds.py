"""Which records are the same to a transform: it is applied to the first one of each kind alone.

A filter by header sees a few kinds among thousands of records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from spark_jobs.transform.columns.encoded_records import EncodedRecords

    Numbers = npt.NDArray[np.int64]

_SAMPLE = 1_000


class Kinds(NamedTuple):
    """The kinds of some records, in the order of their first records."""

    of: Numbers  # the kind of each record
    firsts: Numbers  # the place of the first record of each kind; they ascend


def kinds_of(count: int, columns: Iterable[pa.Array]) -> Kinds:
    """Return the kinds of so many records, which are told apart by these columns."""
    codes = np.zeros(count, np.int64)
    for each in columns:
        found = _codes(each)
        codes = _codes(pa.array(codes * (int(found.max(initial=0)) + 1) + found))
    newest = np.maximum.accumulate(codes)  # codes rise by one with each kind that is new
    return Kinds(codes, np.flatnonzero(np.diff(newest, prepend=-1)))


def repeated_kinds(records: EncodedRecords, names: Iterable[str]) -> Kinds | None:
    """Return the kinds of records by ``names`` of PARTS; None: few records are of one kind.

    Judged by the first ones: to look for kinds where there are none costs more than it saves.
    """
    listed = tuple(names)

    def found(count: int) -> Kinds:
        places = np.arange(count)
        return kinds_of(count, (records.part(each, places) for each in listed))

    sample = min(len(records), _SAMPLE)
    if 2 * len(found(sample).firsts) > sample:
        return None
    return found(len(records))


def _codes(column: pa.Array) -> Numbers:
    """Return numbers from 0 on, in the order in which they occur first; the same for the same."""
    found: Numbers = column.dictionary_encode().indices.to_numpy().astype(np.int64)
    return found
