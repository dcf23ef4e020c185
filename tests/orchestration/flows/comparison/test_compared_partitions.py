"""Which partitions of two clusters are compared, and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.flows.comparison import topic_comparison
from orchestration.flows.comparison.compared_partition import TopicPair, Work
from orchestration.flows.comparison.copy_positions import CopyPosition
from orchestration.flows.comparison.partition_records import PartitionRecords
from orchestration.flows.comparison.topic_comparison import Options, compare_topics
from replication.adapters.topics.record_reader import ConsumedRecord
from replication.model import OffsetRange, TopicPartition
from replication.records.comparison_result import DifferenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

CREATED = 1  # librdkafka's number of a producer's timestamp


class MemoryReader:
    """Reads topics from memory. ``client`` holds the values by partition."""

    def __init__(self, client: dict[TopicPartition, list[bytes]], _isolation: str) -> None:
        self._logs = client

    def partitions(self, topic: str) -> int | None:
        numbers = [each.partition for each in self._logs if each.topic == topic]
        return max(numbers) + 1 if numbers else None

    def bounds(self, partition: TopicPartition) -> OffsetRange:
        return OffsetRange(0, len(self._logs[partition]))

    def read(self, partition: TopicPartition, end: int, begin: int = 0) -> Iterator[ConsumedRecord]:
        for offset, value in enumerate(self._logs[partition][begin:end], begin):
            yield ConsumedRecord(offset, None, value, (), (1000 + offset, CREATED))

    def close(self) -> None:
        pass


@pytest.fixture
def compared(monkeypatch):
    """Return the differences by target partition."""
    monkeypatch.setattr(topic_comparison, "RecordReader", MemoryReader)

    def differences(
        source, target, options=None
    ) -> dict[TopicPartition, dict[DifferenceKind, int]]:
        results = compare_topics(source, target, [TopicPair("t", "A.t")], options or Options())
        return {
            each.work.target: {
                kind: count for kind in DifferenceKind if (count := each.comparison.count(kind))
            }
            for each in results
        }

    return differences


def source(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def copy(number: int) -> TopicPartition:
    return TopicPartition("A.t", number)


def test_a_partition_that_only_the_target_has_is_compared(compared):
    found = compared({source(0): [b"a"]}, {copy(0): [b"a"], copy(1): [b"b", b"c"]})
    assert found == {copy(0): {}, copy(1): {DifferenceKind.EXTRA: 2}}


def test_a_partition_that_only_the_source_has_is_compared(compared):
    found = compared({source(0): [b"a"], source(1): [b"b", b"c"]}, {copy(0): [b"a"]})
    assert found == {copy(0): {}, copy(1): {DifferenceKind.LOST: 2}}


@pytest.mark.parametrize(
    ("damaged", "read"),
    [
        pytest.param([], [3, 4, 5, 6, 7, 8], id="none"),
        pytest.param([(4, 6)], [3, 6, 7, 8], id="within"),
        pytest.param([(0, 3), (9, 12)], [3, 4, 5, 6, 7, 8], id="outside"),
        pytest.param([(0, 4), (8, 12)], [4, 5, 6, 7], id="at the ends"),
        pytest.param([(4, 5), (5, 7)], [3, 7, 8], id="one behind the other"),
        pytest.param([(2, 10)], [], id="all of it"),
    ],
)
def test_bl_226_damaged_offsets_that_the_copy_passed_over_are_not_read(damaged, read):
    ranges = tuple(OffsetRange(*each) for each in damaged)
    work = Work(source(0), copy(0), 9, 9, 9, copied=CopyPosition(damaged=ranges))
    reader = MemoryReader({source(0): [b"%d" % each for each in range(12)]}, "")
    found = PartitionRecords(work).of_source(reader, 3, lambda _: None)
    assert [each.offset for each in found] == read
