"""Which checkpoints are written, and which are not."""

from __future__ import annotations

import pytest

from replication.errors import ClusterRejected, ClusterUnavailable
from replication.mm2.checkpoints import CheckpointMemory, CheckpointPosition, Recorder
from replication.mm2.compacted_topic import CompactedTopic
from replication.mm2.wire import Checkpoint
from replication.model import TopicPartition

COPY = TopicPartition("A.orders", 0)


def stand(
    upstream: int, downstream: int | None, group: str = "g", metadata: str = ""
) -> CheckpointPosition:
    return CheckpointPosition(group, COPY, upstream, downstream, metadata)


def offsets(found) -> list[tuple[int, int]]:
    return [(each.upstream, each.downstream) for each in found]


class Cluster:
    def __init__(self, records=(), refused: str = "") -> None:
        self.records, self.refused, self.written = records, refused, []

    def ensure(self, name, replication_factor): ...

    def read(self, topic):
        if self.refused:
            raise ClusterRejected(self.refused)
        return self.records

    def write(self, topic, entries):
        self.written += [Checkpoint.parse(each.key, each.value) for each in entries]


def recorder(cluster, positions) -> Recorder:
    return Recorder(CompactedTopic("A.checkpoints.internal", 1, lambda: cluster), lambda: positions)


def test_ct_02_group_partition_offsets_and_metadata_are_in_the_record():
    (made,) = CheckpointMemory().news([stand(10, 7, "billing", "host-1")])
    assert made == Checkpoint("billing", "A.orders", 0, 10, 7, "host-1")


@pytest.mark.parametrize(
    "none",
    [
        pytest.param(stand(10, None), id="CT-05, not copied"),
        pytest.param(stand(-1, 5), id="CT-06, no committed offset"),
        pytest.param(stand(10, -1), id="no place"),
    ],
)
def test_ct_05_ct_06_without_an_offset_on_both_sides_there_is_no_checkpoint(none):
    assert CheckpointMemory().news([none]) == []


def test_ct_07_a_checkpoint_goes_back_only_when_the_group_did():
    memory = CheckpointMemory()
    assert offsets(memory.news([stand(400, 400)])) == [(400, 400)]
    assert memory.news([stand(400, 400)]) == []
    assert memory.news([stand(400, 375)]) == []
    assert offsets(memory.news([stand(300, 290)])) == [(300, 290)]
    assert offsets(memory.news([stand(301, 291)])) == [(301, 291)]


def test_ct_08_a_restart_goes_on_from_the_checkpoints_that_are_there():
    before = Checkpoint("g", "A.orders", 0, 250, 201)
    memory = CheckpointMemory()
    memory.load([(before.key(), before.value())])
    assert memory.news([stand(250, 176)]) == []
    assert memory.news([stand(370, 176)]) == []
    assert offsets(memory.news([stand(400, 376)])) == [(400, 376)]


def test_cs_01_the_last_record_counts_and_malformed_ones_are_left_out():
    old, new = (Checkpoint("g", "A.orders", 0, each, each) for each in (1, 9))
    other = Checkpoint("h", "A.orders", 0, 500, 500)
    records = [(each.key(), each.value()) for each in (old, other, new)]
    cluster = Cluster([*records[:2], (b"x", b"y"), (old.key(), None), records[2]])
    recorder(cluster, [stand(9, 9), stand(10, 10)]).record()
    assert offsets(cluster.written) == [(10, 10)]


def test_ct_09_nothing_is_written_before_what_is_there_was_read():
    order = []

    class Watched(Cluster):
        def read(self, topic):
            order.append("read")
            return super().read(topic)

        def write(self, topic, entries):
            order.append("write")

    recorder(Watched(), [stand(1, 1)]).record()
    assert order == ["read", "write"]


def test_cs_02_who_may_not_read_the_topic_writes_what_is_right():
    cluster = Cluster(refused="not authorized")
    assert recorder(cluster, [stand(5, 5)]).record() == "1 new in A.checkpoints.internal"
    assert offsets(cluster.written) == [(5, 5)]


def test_cc_03_without_groups_the_topic_is_made_and_nothing_written():
    cluster = Cluster()
    assert recorder(cluster, []).record() == "nothing new in A.checkpoints.internal"
    assert cluster.written == []


def test_an_offset_beyond_the_end_of_the_source_has_no_checkpoint_and_is_named():
    beyond = "orders-0 offset 99 is beyond the end of the source (9)"
    cluster = Cluster()
    found = recorder(cluster, [stand(5, 5), stand(99, None, "h")._replace(problem=beyond)]).record()
    assert found == f"1 new in A.checkpoints.internal; 1 left out, h because {beyond}"
    assert offsets(cluster.written) == [(5, 5)]


def test_what_could_not_be_written_is_news_the_next_time():
    class Down(Cluster):
        def write(self, topic, entries):
            raise ClusterUnavailable("nobody there")

    down, up = Down(), Cluster()
    made = recorder(down, [stand(5, 5)])
    with pytest.raises(ClusterUnavailable):
        made.record()
    made.topic = CompactedTopic("A.checkpoints.internal", 1, lambda: up)
    made.record()
    assert offsets(up.written) == [(5, 5)]
