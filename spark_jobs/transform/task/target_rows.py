"""Puts results, as columns, into topics and partitions of the target, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replication.model import TopicPartition
from replication.transforms.key_partitioner import partition_of
from replication.transforms.transformed_record import BY_KEY
from spark_jobs.transform.task.range_outcome import Placed, problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from spark_jobs.transform.task.range_outcome import RangeOutcome

    Numbers = npt.NDArray[np.int64]


class TargetRows(NamedTuple):
    """Results of some records of a range, in order."""

    topics: Mapping[str, Numbers]  # the rows for each topic, which ascend; a row may be repeated
    numbers: Numbers  # of partitions, or SAME_PARTITION or BY_KEY
    times: Numbers  # ms
    rests: pa.BinaryArray  # key, value and headers as they are encoded
    keys: pa.BinaryArray | None  # where BY_KEY occurs
    sources: Numbers  # offset of the record that each comes from; -1: not known


def misplaced(
    topics: Mapping[str, Numbers], numbers: Numbers, known: Mapping[str, int]
) -> dict[int, str]:
    """Return the rows that cannot be written where they are to go, and why.

    ``known``: how many partitions a topic has.
    """
    found = {}
    for topic, chosen in topics.items():
        most = known.get(topic, -1 << 31)
        for row in chosen[numbers[chosen] >= most].tolist():
            found[row] = problem_of(topic, int(numbers[row]), known)
    return found


def put(outcome: RangeOutcome, rows: TargetRows) -> None:
    """Add all rows to the outcome of their range."""
    every = np.arange(len(rows.times))
    for topic, chosen in rows.topics.items():
        placed = _placed(outcome, topic, rows, chosen)
        for partition in np.unique(placed):
            mine = chosen if (placed == partition).all() else chosen[placed == partition]
            rests = rows.rests if np.array_equal(mine, every) else rows.rests.take(pa.array(mine))
            where = TopicPartition(topic, int(partition))
            outcome.extend(Placed(where, rows.times[mine], rests, rows.sources[mine]))


def _placed(outcome: RangeOutcome, topic: str, rows: TargetRows, chosen: Numbers) -> Numbers:
    """Return the target partition of each chosen row."""
    own, count = outcome.work.source.partition, outcome.slot.partitions.get(topic, 1)
    numbers = rows.numbers[chosen]
    placed = np.where(numbers < 0, own, numbers) % count
    by_key = np.flatnonzero(numbers == BY_KEY)
    if len(by_key) and rows.keys is not None:
        keys = rows.keys.take(pa.array(chosen[by_key])).dictionary_encode()
        of_keys = [partition_of(each, count) for each in keys.dictionary.to_pylist()]
        found = pc.fill_null(pa.array(of_keys, pa.int64()).take(keys.indices), own % count)
        placed[by_key] = found.to_numpy(zero_copy_only=False)
    return placed
