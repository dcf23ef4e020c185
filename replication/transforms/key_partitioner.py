"""The partition that Kafka's clients choose by a key: murmur2, as their DefaultPartitioner."""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of ``org.apache.kafka.common.utils.Utils.murmur2``, unsigned."""
    length = len(data)
    found = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        word = (word ^ (word >> 24)) * _M & _MASK
        found = (found * _M & _MASK) ^ word
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * _M & _MASK
    found = (found ^ (found >> 13)) * _M & _MASK
    return found ^ (found >> 15)


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of ``key`` in a topic with that many."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
