"""Brokers of the release line before ours, as source and as target."""

from __future__ import annotations

import pytest
import support
from copying import Flow

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def older(kafka_cluster):
    return kafka_cluster(version="3.9.1")


@pytest.mark.parametrize("end", ["source", "target"])
def test_an_older_cluster_is_copied_from_and_to(older, source_cluster, target_cluster, end):
    ends = {"source": source_cluster, "target": target_cluster, end: older}
    topic = f"from-{end}"
    for cluster in ends.values():
        support.create_topic(cluster.bootstrap_servers, topic, 2)
    flow = Flow(ends["source"], ends["target"], {topic: 2})
    support.produce(flow.here, topic, support.some_records(200, 2))
    flow.copy_all(generation=1)
    support.produce(flow.here, topic, support.some_records(200, 2, seed=2))
    flow.copy_all(generation=2)
    flow.assert_equal()
