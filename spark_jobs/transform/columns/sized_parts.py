"""Reads numbers, and parts that begin with their lengths, at many places at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.transform.columns.encoded_records import gathered

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]

# By the two bytes at its place: a signed number of one or two bytes, and how many it has.
_CODES = np.arange(1 << 16)
_HAS_ONE = _CODES & 0x80 == 0
_UNSIGNED = np.where(_HAS_ONE, _CODES & 0x7F, _CODES & 0x7F | _CODES >> 8 << 7)
_SIGNED, _WIDTHS = (_UNSIGNED >> 1) ^ -(_UNSIGNED & 1), np.where(_HAS_ONE, 1, 2)


class Parts(NamedTuple):
    """Where a part of each record is; ``lengths`` is negative where it is null."""

    starts: Numbers
    lengths: Numbers

    @property
    def ends(self) -> Numbers:
        return self.starts + np.maximum(self.lengths, 0)


def sized(raw: Bytes, at: Numbers) -> tuple[Parts, Numbers]:
    """Return the parts that begin with their lengths at ``at``, and the places behind them."""
    lengths, starts = numbers_at(raw, at)
    parts = Parts(starts, lengths)
    return parts, parts.ends


def numbers_at(raw: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    """Return the signed numbers at ``at``, and the places behind them. Raises IndexError."""
    code: npt.NDArray[np.intp] = raw.take(at).astype(np.intp)
    if code.max(initial=0) < 0x80:
        return _SIGNED.take(code), at + 1
    # A byte that is not there is that of a number of one byte, or the number has no end.
    code |= raw.take(at + 1, mode="clip").astype(np.intp) << 8
    found, behind = _SIGNED.take(code), at + _WIDTHS.take(code)
    if len(longer := np.flatnonzero(code & 0x8080 == 0x8080)):
        found[longer], behind[longer] = _long_numbers(raw, at[longer])
    return found, behind


def _long_numbers(raw: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    value, shift = np.zeros(len(at), np.uint64), 0
    behind, left = at.copy(), np.arange(len(at))
    while len(left):
        if shift > 63:
            raise IndexError
        last = raw.take(behind[left])
        value[left] |= (last & 0x7F).astype(np.uint64) << np.uint64(shift)
        behind[left] += 1
        left, shift = left[last >= 0x80], shift + 7
    signed = (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)
    return signed, behind


def valued(data: bytes | memoryview, parts: Parts) -> pa.BinaryArray:
    """Return parts, which lie in order in ``data``, as a column; negative lengths as null."""
    found = gathered(data, parts.starts, parts.ends)
    if not np.any(nulls := parts.lengths < 0):
        return found
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(found), [valid, *found.buffers()[1:]])
