"""Compression codes, against kafka-python's codecs and against damage."""

from __future__ import annotations

import contextlib
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.codec import gzip_decode, gzip_encode, lz4_decode, lz4_encode

from replication.errors import CorruptBatch
from replication.records.compression import compress, decompress

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)

content = st.binary(max_size=200) | st.binary(max_size=40).map(lambda part: part * 3000)
packed_codes = st.sampled_from([GZIP, SNAPPY, LZ4, ZSTD])


@given(st.integers(0, 4), content)
def test_what_was_compressed_is_decompressed_to_the_same_bytes(code, data):
    assert decompress(code, memoryview(compress(code, data))) == data


@given(content)
def test_another_client_reads_what_we_compress_and_we_read_what_it_does(data):
    assert gzip_decode(compress(GZIP, data)) == data == decompress(GZIP, gzip_encode(data))
    assert lz4_decode(compress(LZ4, data)) == data == decompress(LZ4, lz4_encode(data))


@given(content)
def test_snappy_without_the_java_framing_is_read_too(data):
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


@given(packed_codes, content, st.data())
def test_what_is_cut_off_never_passes_for_the_whole(code, data, choices):
    whole = compress(code, data)
    cut = whole[: choices.draw(st.integers(0, len(whole) - 1))]
    try:
        got = decompress(code, cut)
    except CorruptBatch:
        return
    assert code == SNAPPY  # whose blocks stand alone: then records are missing
    assert data.startswith(got)


@given(st.integers(0, 4), st.binary(max_size=60))
def test_garbage_is_a_corrupt_batch_and_nothing_else(code, data):
    for damaged in (data, XERIAL + data):
        with contextlib.suppress(CorruptBatch):
            decompress(code, damaged)


@pytest.mark.parametrize("size", [-4, -5, 0, -(2**31), 2**31 - 1])
def test_a_snappy_block_of_impossible_size_is_refused(size):
    block = bytes(cramjam.snappy.compress_raw(b"abc"))
    with pytest.raises(CorruptBatch, match=f"a block of {size} bytes"):
        decompress(SNAPPY, XERIAL + struct.pack(">i", size) + block)


@pytest.mark.parametrize("code", [5, 7])
def test_a_code_that_nobody_has_defined_is_refused(code):
    with pytest.raises(CorruptBatch, match=f"unknown compression code {code}"):
        decompress(code, b"abc")
