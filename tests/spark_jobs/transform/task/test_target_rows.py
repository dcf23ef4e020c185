"""Where results go: by number, by key, or to the number of the source partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.settings.transform_settings import SettingText, TopicTransform
from replication.state import Anchor
from replication.transforms.key_partitioner import partition_of
from replication.transforms.transformed_record import BY_KEY, SAME_PARTITION
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.target_rows import TargetRows, misplaced, put
from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

COUNTS = {"A.orders": 4, "eu": 2}


@pytest.mark.parametrize(
    ("topic", "number", "key", "where"),
    [
        ("A.orders", SAME_PARTITION, b"k", 3),
        ("eu", SAME_PARTITION, b"k", 1),
        ("A.orders", 1, b"k", 1),
        ("A.orders", BY_KEY, b"other", partition_of(b"other", 4)),
        ("A.orders", BY_KEY, None, 3),
    ],
)
def test_a_record_goes_to_its_partition_by_number_or_key(topic, number, key, where):
    transform = TopicTransform("orders", where=SettingText("true", "f:7: k"))
    work = RangeWork(Anchor("A->B", "orders", 3, "A.orders", 10, 4), 20, "", TopicPartition("x", 3))
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    slot = SlotWork(TaskClusters("A->B", "A", {}, {}), transform, me, (work,), COUNTS, {})
    found, rests = RangeOutcome(slot, work), pa.array([b"a", b"b"], pa.binary())
    keys = pa.array([b"unused", key], pa.binary())
    sources, times, numbers = np.array([10, 11]), np.array([5, 6]), np.array([0, number])
    rows = TargetRows({topic: np.array([1])}, numbers, times, rests, keys, sources)
    put(found, rows)
    ((place, records),) = found.records.items()
    assert (place, [e.rest for e in records.records()]) == (TopicPartition(topic, where), [b"b"])


def test_what_cannot_be_written_where_it_is_to_go_is_named():
    topics = {"A.orders": np.array([0, 1]), "us": np.array([2])}
    assert misplaced(topics, np.array([3, 4, BY_KEY]), COUNTS) == {
        1: "A.orders has no partition 4",
        2: "its topic us is not on the target, or not in route.topics",
    }
