"""Compression of record batches, by the codes that stand in a batch's attributes. Pure."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import cramjam
import lz4.frame

from replication.errors import CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Callable

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024
_DAMAGED = (
    ValueError,
    RuntimeError,  # lz4
    OSError,
    struct.error,
    zlib.error,
    cramjam.DecompressionError,
)


def decompress(codec: int, data: bytes | memoryview) -> bytes:
    """Return the records of a batch. Raises CorruptBatch for damaged data or an unknown code."""
    try:
        return _DECOMPRESS[codec](data)
    except KeyError:
        raise CorruptBatch(f"unknown compression code {codec}") from None
    except _DAMAGED as error:
        raise CorruptBatch(f"decompressing code {codec}: {error}") from error


def compress(codec: int, data: bytes) -> bytes:
    """Return ``data`` as the Java client would have compressed it."""
    return _COMPRESS[codec](data)


def _gunzip(data: bytes | memoryview) -> bytes:
    return zlib.decompress(data, wbits=31)


def _gzip(data: bytes) -> bytes:
    worker = zlib.compressobj(wbits=31)
    return worker.compress(data) + worker.flush()


def _lz4(data: bytes) -> bytes:
    # The Java client and broker refuse frames whose blocks depend on one another.
    return bytes(lz4.frame.compress(data, block_linked=False, store_size=False))


def _unsnappy(data: bytes | memoryview) -> bytes:
    """Read raw snappy (librdkafka) and the framing of the Java library (xerial)."""
    whole = bytes(data)
    if not whole.startswith(_XERIAL_MAGIC):
        return bytes(cramjam.snappy.decompress_raw(whole))
    position, blocks = len(_XERIAL_HEADER), []
    while position < len(whole):
        (size,) = struct.unpack_from(">i", whole, position)
        position += 4
        if not 0 < size <= len(whole) - position:
            raise ValueError(f"a block of {size} bytes where {len(whole) - position} are left")
        blocks.append(bytes(cramjam.snappy.decompress_raw(whole[position : position + size])))
        position += size
    return b"".join(blocks)


def _snappy(data: bytes) -> bytes:
    blocks = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        blocks += [struct.pack(">i", len(block)), block]
    return b"".join(blocks)


_DECOMPRESS: dict[int, Callable[[bytes | memoryview], bytes]] = {
    0: bytes,
    1: _gunzip,
    2: _unsnappy,
    3: lambda data: bytes(lz4.frame.decompress(bytes(data))),
    4: lambda data: bytes(cramjam.zstd.decompress(bytes(data))),
}
_COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: _gzip,
    2: _snappy,
    3: _lz4,
    4: lambda data: bytes(cramjam.zstd.compress(data)),
}
