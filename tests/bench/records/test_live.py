"""How late live records are, as processes of their own note it."""

from __future__ import annotations

import time
from array import array

import pytest
from support.records import kafka_records

from bench.records.live import LatencySamples, Live, LiveTopic


def test_those_that_were_made_between_two_moments_count():
    seen = LatencySamples(array("d", [999, 1000, 1999, 2000]), array("d", [1, 2, 3, 4]))
    assert seen.between(1, 2) == [2, 3]


@pytest.mark.integration
def test_each_watcher_sees_every_record_that_was_written(source_cluster, topic_name):
    servers = source_cluster.bootstrap_servers
    here, other = (LiveTopic(servers, topic_name(), 2) for _ in range(2))
    for each in (here, other):
        kafka_records.create_topic(servers, each.name, 2)
    began = time.time()
    with Live([here, other], [here, here, other], rate=400) as live:
        live.wait_for_first()
        time.sleep(1)
        seen = live.end()
    ended = time.time()
    for topic, each in zip((here, here, other), seen, strict=True):
        made = [record.timestamp for record in kafka_records.consume_all(servers, topic.name)]
        assert sorted(each.made) == sorted(made)
        late = each.between(began, ended)
        assert len(late) == len(made) > 100
        assert 0 <= min(late) <= max(late) < (ended - began) * 1000
