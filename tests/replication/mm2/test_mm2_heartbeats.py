"""Heartbeats: their content and their ages."""

from __future__ import annotations

import time

import pytest

from replication.errors import ClusterUnavailable
from replication.mm2.compacted_topic import CompactedTopic
from replication.mm2.heartbeats import Age, HeartbeatPair, ages
from replication.mm2.wire import Heartbeat


class Cluster:
    """Keeps what is written; ``down`` answers nothing."""

    def __init__(self) -> None:
        self.made, self.written, self.down = [], [], False

    def ensure(self, name, replication_factor):
        if self.down:
            raise ClusterUnavailable("nobody there")
        self.made.append((name, replication_factor))

    def write(self, topic, entries):
        if self.down:
            raise ClusterUnavailable("nobody there")
        self.written += [(topic, each) for each in entries]


def test_hb_10_a_beat_is_one_record_that_names_both_clusters():
    cluster = Cluster()
    before = int(time.time() * 1000)
    assert (
        HeartbeatPair("A", "B", CompactedTopic("heartbeats", 2, lambda: cluster)).beat()
        == "A->B to heartbeats of B"
    )
    ((topic, entry),) = cluster.written
    beat = Heartbeat.parse(entry.key, entry.value)
    assert (topic, entry.partition, beat.source, beat.target) == ("heartbeats", 0, "A", "B")
    assert before <= beat.at_ms == entry.at_ms <= int(time.time() * 1000)
    assert cluster.made == [("heartbeats", 2)]


def test_the_topic_is_made_once_and_asked_for_until_that_worked():
    cluster = Cluster()
    pair = HeartbeatPair("A", "B", CompactedTopic("heartbeats", 1, lambda: cluster))
    cluster.down = True
    with pytest.raises(ClusterUnavailable):
        pair.beat()
    cluster.down = False
    pair.beat()
    pair.beat()
    assert (len(cluster.made), len(cluster.written)) == (1, 2)


def test_after_a_failure_the_topic_is_looked_for_anew():
    cluster = Cluster()
    pair = HeartbeatPair("A", "B", CompactedTopic("heartbeats", 1, lambda: cluster))
    pair.beat()
    cluster.down = True
    with pytest.raises(ClusterUnavailable):
        pair.beat()
    cluster.down = False
    pair.beat()
    assert len(cluster.made) == 2


def test_the_newest_beat_of_each_pair_counts_and_malformed_ones_are_left_out():
    beats = [Heartbeat("A", "B", 1000), Heartbeat("C", "B", 500), Heartbeat("A", "B", 900)]
    records = [(each.key(), each.value()) for each in beats] + [
        (b"x", b"y"),
        (beats[0].key(), None),
    ]
    assert ages("B", "heartbeats", records, 1500) == [
        Age("B", "heartbeats", "A", "B", 500),
        Age("B", "heartbeats", "C", "B", 1000),
    ]
