"""What a comparison says before clients move to the copies."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from orchestration.flows.comparison.copy_positions import CopyPosition
from orchestration.switchover.tail_comparison import compare_tail, differences
from replication.errors import ClusterRejected
from replication.model import TopicPartition
from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Limits,
    NoCounterpart,
)

HERE, THERE = TopicPartition("t", 0), TopicPartition("A.t", 0)


class Compared:
    """A comparison whose results are known."""

    def __init__(self, *results: PartitionResult, transformed: tuple[str, ...] = ()) -> None:
        self.transformed = transformed
        self.flow = SimpleNamespace(name="A->B")
        self._results = dict(enumerate(results))

    def plan(self) -> list[int]:
        return list(self._results)

    def compare(self, work: int, _progress: object) -> PartitionResult:
        return self._results[work]


def a_result(
    equal: int = 0, kind: DifferenceKind | None = None, at: Example | None = None, **work: object
) -> PartitionResult:
    found = Comparison(source_records=equal, target_records=equal, equal=equal)
    if kind is not None:
        found.note(kind, at, Limits())
    if "copied" in work:
        found.no_counterpart[NoCounterpart.IN_FLIGHT] = 3
    return PartitionResult(Work(HERE, THERE, 9, 9, 9, **work), found)


def test_equal_tails_are_counted():
    reported = compare_tail(Compared(a_result(50), a_result(7)))
    assert reported == "57 records of 2 partitions are equal"


def test_topics_that_are_transformed_are_counted_and_not_compared():
    assert compare_tail(Compared(a_result(50), transformed=("a", "b"))) == (
        "50 records of 1 partition are equal; 2 topics are transformed, and not compared"
    )
    assert compare_tail(Compared(transformed=("a",))) == (
        "nothing is compared: 1 topic of A->B is transformed"
    )


def test_partitions_without_records_are_no_difference():
    assert compare_tail(Compared(a_result())) == "0 records of 1 partition are equal"


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        (
            a_result(5, DifferenceKind.LOST, Example(8, None)),
            "t-0: 1 lost, the first at source offset 8",
        ),
        (
            a_result(5, DifferenceKind.EXTRA, Example(None, 4)),
            "t-0: 1 extra, the first at target offset 4",
        ),
        (a_result(on_target=False), "the target has no A.t-0"),
        (a_result(5, copied=CopyPosition(6, halted="REFUSED: why")), "t-0 is REFUSED: why"),
    ],
    ids=["lost", "extra", "missing", "halted"],
)
def test_a_difference_names_the_partition_and_the_first_offset(result, reported):
    assert list(differences([result])) == [reported]
    with pytest.raises(ClusterRejected, match=reported):
        compare_tail(Compared(a_result(5), result))


def test_without_any_partition_nothing_is_proved():
    with pytest.raises(ClusterRejected, match="no record could be compared; --tail 0"):
        compare_tail(Compared())
