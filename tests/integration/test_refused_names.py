"""Names that cannot be used, in a running driver: only their topics are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import support
from confluent_kafka import KafkaException
from driving import Application, wait_for

if TYPE_CHECKING:
    from replication.adapters.local_kafka import LocalCluster

pytestmark = pytest.mark.integration


def test_bl_035_topics_whose_names_cannot_be_used_are_refused_and_the_others_are_copied(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path
):
    app = Application(source_cluster, target_cluster, tmp_path)
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    try:
        good, taken, dotted = app.topic("good"), app.topic("taken"), app.topic("dotted")
        app.produce(good, 100)
        app.produce(taken, 100)
        long = support.create_topic(here, f"{app.alias}-".ljust(248, "x"), 1)
        support.create_topic(there, f"{app.alias}.{taken}", 2)
        support.produce(there, f"{app.alias}.{taken}", support.some_records(7, 2, 1))
        support.create_topic(there, f"{app.alias}_{dotted}", 1)
        app.start()
        reason = app.await_state("DEGRADED").reason
        for said in (
            f"{app.alias}.{taken}: the target has a topic of this name, with records that",
            f"{app.alias}.{dotted}: {dotted} of {app.alias}: brokers refuse this name beside",
            f"{long} of {app.alias}: the name has 256 characters, 249 is the most",
        ):
            assert said in reason
        wait_for(lambda: app.is_copied(good))
        assert len(support.consume_all(there, f"{app.alias}.{taken}")) == 7
        with pytest.raises(KafkaException, match="collides"):  # as the reason says
            support.create_topic(there, f"{app.alias}.{dotted}", 1)
    finally:
        app.close()
