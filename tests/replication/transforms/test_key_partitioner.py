"""The hash by which Kafka's clients choose a partition, by the values of Kafka's own UtilsTest."""

from __future__ import annotations

import pytest

from replication.transforms.key_partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_clients(key, found):
    assert murmur2(key) == found % (1 << 32)
    assert partition_of(key, 7) == (found & 0x7FFFFFFF) % 7
