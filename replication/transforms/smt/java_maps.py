"""The order in which Java's HashMap lists its keys. Pure.

Connect holds JSON objects in HashMaps, so the order of an object's members after a transform is
that of the table's buckets (java.util.HashMap: spread hash, power-of-two table, load factor 0.75).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DEFAULT_CAPACITY = 16
_MASK = 0xFFFFFFFF


def hash_order(keys: Iterable[str], capacity: int = _DEFAULT_CAPACITY) -> list[str]:
    """Return ``keys``, given in the order of their insertion, as a HashMap lists them.

    ``capacity``: as passed to its constructor.
    """
    listed = list(dict.fromkeys(keys))
    size = _table_size(len(listed), capacity)
    return sorted(listed, key=lambda key: _spread(key) & (size - 1))


def copied_capacity(count: int) -> int:
    """Return the capacity of ``new HashMap<>(map)`` with so many entries."""
    return int(count / 0.75 + 1.0) if count else _DEFAULT_CAPACITY


def set_order(items: Sequence[str]) -> list[str]:
    """Return ``items`` as ``new HashSet<>(list)`` lists them."""
    return hash_order(items, max(int(len(items) / 0.75) + 1, _DEFAULT_CAPACITY))


def _table_size(count: int, capacity: int) -> int:
    size = 1
    while size < capacity:
        size *= 2
    while count > size * 0.75:
        size *= 2
    return size


def _spread(key: str) -> int:
    found = 0
    for unit in _utf16(key):
        found = (31 * found + unit) & _MASK
    return found ^ (found >> 16)


def _utf16(key: str) -> Iterable[int]:
    raw = key.encode("utf-16-be", "surrogatepass")
    return (raw[at] << 8 | raw[at + 1] for at in range(0, len(raw), 2))
