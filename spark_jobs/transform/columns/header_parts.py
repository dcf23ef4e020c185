"""Finds names and values of the headers of many records at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spark_jobs.transform.columns.sized_parts import Parts, sized

if TYPE_CHECKING:
    from spark_jobs.transform.columns.sized_parts import Bytes, Numbers

_MOST_TOGETHER = 32  # headers of a record that are read for all records at once


def header_parts(data: bytes, counts: Numbers, starts: Numbers) -> tuple[Parts, Parts, Numbers]:
    """Return names and values of the headers of all records in order, and where records end."""
    raw, total = np.frombuffer(data, np.uint8), int(counts.sum())
    names, values = (Parts(np.zeros(total, np.int64), np.zeros(total, np.int64)) for _ in "ab")
    first, ends = np.cumsum(counts) - counts, starts.copy()
    for level in range(min(int(counts.max(initial=0)), _MOST_TOGETHER)):
        having = np.flatnonzero(counts > level)
        places = first[having] + level
        ends[having] = _read_headers(raw, ends[having], (names, values), places)
    for each in np.flatnonzero(counts > _MOST_TOGETHER):
        for number in range(_MOST_TOGETHER, int(counts[each])):
            one = np.array([each])
            ends[one] = _read_headers(raw, ends[one], (names, values), first[one] + number)
    return names, values, ends


def _read_headers(raw: Bytes, at: Numbers, into: tuple[Parts, Parts], places: Numbers) -> Numbers:
    """Read the name and the value of a header at each place; return the places behind them."""
    for parts in into:
        found, at = sized(raw, at)
        parts.starts[places], parts.lengths[places] = found
    return at
