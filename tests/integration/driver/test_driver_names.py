"""Names, selection and merging in a running driver: two sources into one target, names kept."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from typer.testing import CliRunner

from orchestration.cli.main import app
from replication.state import Anchor, anchors_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from replication.adapters.local.local_kafka import LocalCluster

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

# ``twin`` is B under another address; ``second`` is a source beside SOURCE.
MORE = """
clusters = SOURCE, second, twin, B
second.bootstrap.servers = SECOND
twin.bootstrap.servers = TWIN
second->B.enabled = true
twin->B.enabled = true
topics = SOURCE-.*, later-SOURCE
SOURCE->B.topics = SOURCE-.*, later-SOURCE
replication.policy.class = IdentityReplicationPolicy
heartbeats.replication.enabled = false
emit.heartbeats.enabled = false
copy.start = latest
"""


class Stage:
    """A driver for three flows into B, and the topics that it meets at its start."""

    def __init__(self, one: LocalCluster, two: LocalCluster, target: LocalCluster, home) -> None:
        self.second, self.there = two.bootstrap_servers, target.bootstrap_servers
        twin = self.there.replace("127.0.0.1", "localhost")
        more = MORE.replace("SECOND", self.second).replace("TWIN", twin)
        self.app = Application(one, target, home, more)
        self.here, alias = one.bootstrap_servers, self.app.alias
        self.taken, self.dotted = f"{alias}-taken", f"{alias}-a.b"
        for bootstrap in (self.here, self.there):
            kafka_records.create_topic(bootstrap, self.taken, 1)
            kafka_records.produce(bootstrap, self.taken, kafka_records.some_records(7, 1, 1))
        kafka_records.create_topic(self.here, self.dotted, 1)
        kafka_records.create_topic(self.there, f"{alias}-a_b", 1)
        self.internal = kafka_records.create_topic(self.here, f"{alias}-billing.internal", 1)
        self.orders = f"{alias}-orders"
        kafka_records.create_topic(self.here, self.orders, 1)
        kafka_records.create_topic(self.second, self.orders, 3)
        self.app.start()

    def new_topic(self, bootstrap: str, name: str = "") -> str:
        """Create a topic and produce to it at once."""
        topic = kafka_records.create_topic(
            bootstrap, name or f"{self.app.alias}-{uuid.uuid4().hex[:6]}", 3
        )
        kafka_records.produce(bootstrap, topic, kafka_records.some_records(100, 3, 5))
        return topic

    def copied(self, topic: str) -> list[tuple]:
        if topic not in self.names():
            return []
        return [each.content for each in kafka_records.consume_all(self.there, topic)]

    def is_placed(self, source: str, partitions: int) -> bool:
        """Say whether all partitions of a source's orders have a start position."""
        anchors = self.app.state(anchors_topic(source)).values()
        placed = {
            each.partition
            for each in anchors
            if isinstance(each, Anchor) and each.topic == self.orders and each.source is not None
        }
        return len(placed) == partitions

    def names(self) -> set[str]:
        return self.app.store._admin.topic_names()


@pytest.fixture(scope="module")
def stage(
    kafka_cluster: Callable[..., LocalCluster],
    source_cluster: LocalCluster,
    target_cluster: LocalCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("names") / "app"
    made = Stage(source_cluster, kafka_cluster("second"), target_cluster, home)
    with closing(made.app):
        made.app.await_state("RUNNING", "second->B")
        made.app.await_state("DEGRADED")
        wait_for(made.app.knows_its_source)
        wait_for(lambda: made.is_placed(made.app.alias, 1) and made.is_placed("second", 3))
        yield made


def test_bl_035_a_name_that_cannot_be_used_stops_its_topic_alone(stage):
    reason = stage.app.status().reason
    assert f"{stage.taken}: the target has a topic of this name, with records that" in reason
    assert f"{stage.dotted}: {stage.dotted} of {stage.app.alias}: brokers refuse this" in reason
    with pytest.raises(KafkaException, match="collides"):  # as the reason says
        kafka_records.create_topic(stage.there, stage.dotted, 1)
    assert len(stage.copied(stage.taken)) == 7


def test_bl_028_two_names_of_one_cluster_are_refused_by_its_id(stage):
    reason = stage.app.await_state("FAILED", "twin->B").reason
    assert "twin and B are the same cluster (id " in reason


def test_bl_039_topics_of_two_sources_become_one_with_the_most_partitions_and_all_records(stage):
    ours, theirs = kafka_records.some_records(300, 1, 2), kafka_records.some_records(300, 3, 3)
    kafka_records.produce(stage.here, stage.orders, ours)
    kafka_records.produce(stage.second, stage.orders, theirs)
    wait_for(lambda: len(stage.copied(stage.orders)) >= 600)
    both = [
        each.content
        for bootstrap in (stage.here, stage.second)
        for each in kafka_records.consume_all(bootstrap, stage.orders)
    ]
    assert sorted(stage.copied(stage.orders), key=repr) == sorted(both, key=repr)


def test_bl_023_a_topic_that_is_born_later_is_copied_from_its_first_record(stage):
    topic = stage.new_topic(stage.here)
    wait_for(lambda: len(stage.copied(topic)) >= 100)
    assert len(stage.copied(topic)) == 100, "copy.start = latest is for what was there before"


def test_bl_025_a_listed_topic_that_is_not_there_yet_is_reported_and_picked_up(stage):
    shown = json.loads(CliRunner().invoke(app, _topology(stage)).stdout)
    edge = next(each for each in shown["flows"] if each["flow"] == stage.app.flow)
    later = f"later-{stage.app.alias}"
    assert f"no topic of the source matches {later} yet" in edge["gap"]
    stage.new_topic(stage.here, later)
    wait_for(lambda: len(stage.copied(later)) >= 100)


def test_the_topology_shows_every_topic_of_the_clusters_and_what_merges(stage):
    found = CliRunner().invoke(app, _topology(stage))
    shown = json.loads(found.stdout)
    assert found.exit_code == 1, "twin is no cluster of its own"
    assert any("are the same cluster" in each for each in shown["problems"])
    merged = {each["topic"]: each["sources"] for each in shown["merges"]}
    assert merged[stage.orders] == sorted([stage.app.alias, "second"])
    assert stage.taken in {each["topic"] for each in shown["refused"]}


def test_bl_021_what_a_name_rule_keeps_back_is_listed_with_the_rule(stage):
    shown = json.loads(CliRunner().invoke(app, _topology(stage)).stdout)
    left_out = {t["topic"]: t["left_out"] for e in shown["flows"] for t in e["topics"]}
    assert r"excluded by '.*[\-\.]internal' of topics.exclude" in left_out[stage.internal]
    assert stage.internal not in stage.names()


def test_the_plan_lists_refused_names_as_things_to_do(stage):
    found = CliRunner().invoke(app, ["plan", str(stage.app.config), "--flow", stage.app.flow])
    assert found.exit_code == 1, "twin cannot be planned for"
    assert f"! refuse {stage.taken}: the target has a topic of this name" in found.output
    one, two = (f"{stage.orders} of {each}" for each in sorted([stage.app.alias, "second"]))
    assert f"{one} and {two} merge into this topic" in found.output


def _topology(stage: Stage) -> list[str]:
    return ["topology", str(stage.app.config), "--topics", "-o", "json"]
