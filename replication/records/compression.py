"""Compresses and decompresses record batches, by the codec in a batch's attributes. Pure."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import cramjam
import lz4.frame

from replication.errors import CorruptBatch

if TYPE_CHECKING:
    from collections.abc import Callable

CODEC_MASK = 0x07  # of a batch's attributes
MOST = 128 << 20  # bytes of one unpacked batch; applies only to batches that must be decoded
_FIRST_SIZE = 64 << 10
_TOO_SMALL = "whole buffer"  # cramjam's only sign that the output does not fit
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


def decompress(codec: int, data: bytes | memoryview, most: int = MOST) -> bytes | bytearray:
    """Return the records of a batch, at most ``most`` bytes, whatever the data claims to hold.

    Raises CorruptBatch for damaged data, data that unpacks to more, or an unknown code.
    """
    try:
        return _DECOMPRESS[codec](data, most)
    except KeyError:
        raise CorruptBatch(f"unknown compression code {codec}") from None
    except _DAMAGED as error:
        raise CorruptBatch(f"decompressing code {codec}: {error}") from error


def compress(codec: int, data: bytes) -> bytes:
    """Return ``data`` as the Java client would have compressed it."""
    return _COMPRESS[codec](data)


def _too_much(most: int) -> ValueError:
    return ValueError(f"it unpacks to more than {most} bytes")


def _plain(data: bytes | memoryview, most: int) -> bytes:
    if len(data) > most:
        raise _too_much(most)
    return bytes(data)


def _gunzip(data: bytes | memoryview, most: int) -> bytes:
    worker = zlib.decompressobj(wbits=31)
    found = worker.decompress(data, most + 1)
    if len(found) > most:
        raise _too_much(most)
    if not worker.eof:
        raise ValueError("it is truncated")
    return found


def _gzip(data: bytes) -> bytes:
    worker = zlib.compressobj(wbits=31)
    return worker.compress(data) + worker.flush()


def _lz4(data: bytes) -> bytes:
    # The Java client and broker refuse frames whose blocks depend on one another.
    return bytes(lz4.frame.compress(data, block_linked=False, store_size=False))


def _unlz4(data: bytes | memoryview, most: int) -> bytes:
    worker = lz4.frame.LZ4FrameDecompressor()
    found: bytes = worker.decompress(bytes(data), max_length=most + 1)
    if len(found) > most:
        raise _too_much(most)
    if not worker.eof:
        raise ValueError("it is truncated")
    return found


def _unzstd(data: bytes | memoryview, most: int) -> bytearray:
    """Unpack into a growing buffer: frames of the Java client do not contain their size."""
    size = min(max(_FIRST_SIZE, 8 * len(data)), most)
    while True:
        output = bytearray(size)
        try:
            del output[cramjam.zstd.decompress_into(data, output) :]
        except cramjam.DecompressionError as error:
            if _TOO_SMALL not in str(error):
                raise
            if size == most:
                raise _too_much(most) from None
            size = min(4 * size, most)
        else:
            return output


def _unsnappy(data: bytes | memoryview, most: int) -> bytes:
    """Read raw snappy (librdkafka) and the framing of the Java library (xerial)."""
    whole = bytes(data)
    if not whole.startswith(_XERIAL_MAGIC):
        return _snappy_block(whole, most)
    position, blocks = len(_XERIAL_HEADER), []
    while position < len(whole):
        (size,) = struct.unpack_from(">i", whole, position)
        position += 4
        if not 0 < size <= len(whole) - position:
            raise ValueError(f"a block of {size} bytes where {len(whole) - position} are left")
        blocks.append(_snappy_block(whole[position : position + size], most))
        most -= len(blocks[-1])
        position += size
    return b"".join(blocks)


def _snappy_block(block: bytes, most: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > most:
        raise _too_much(most)
    return bytes(cramjam.snappy.decompress_raw(block))


def _snappy(data: bytes) -> bytes:
    blocks = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        blocks += [struct.pack(">i", len(block)), block]
    return b"".join(blocks)


_DECOMPRESS: dict[int, Callable[[bytes | memoryview, int], bytes | bytearray]] = {
    0: _plain,
    1: _gunzip,
    2: _unsnappy,
    3: _unlz4,
    4: _unzstd,
}
_COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: _gzip,
    2: _snappy,
    3: _lz4,
    4: lambda data: bytes(cramjam.zstd.compress(data)),
}
