"""The Spark driver between real clusters: what it copies, obeys and refuses."""

from __future__ import annotations

import itertools
import json
import re
import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.flows.spark_driver import Application, wait_for
from support.network.otlp_endpoint import attributes, otlp_endpoint
from support.records import kafka_records
from support.security.attack_surface import listens, open_to_others, reachable_ports, tree
from typer.testing import CliRunner

from orchestration.cli.main import app
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import Desired, FlowState, Mode, PartitionState
from replication.state import Anchor, TaskReport, anchors_topic, status_topic

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

DOWN = """
clusters = SOURCE, B, down
down.bootstrap.servers = 127.0.0.1:1
down->B.enabled = true
copy.epoch.seconds = 2
SOURCE->B.sync.group.offsets.enabled = true
metrics.port = 0
metrics.detail = partition
"""
PUSH = "metrics.otlp.endpoint = {}\nmetrics.otlp.interval.seconds = 1\n"


@pytest.fixture(scope="module")
def running(source_cluster, target_cluster, tmp_path_factory):
    """One driver for the tests of this module, with a second flow whose source is down."""
    home = tmp_path_factory.mktemp("driver") / "app"
    with (
        otlp_endpoint() as endpoint,
        closing(
            Application(source_cluster, target_cluster, home, DOWN + PUSH.format(endpoint.url))
        ) as application,
    ):
        application.endpoint = endpoint
        application.stock = a_stock(application)
        application.start()
        application.await_state(FlowState.RUNNING)
        wait_for(lambda: application.is_copied(application.stock))
        compact(application)
        yield application


def a_stock(application: Application) -> str:
    """Create a topic that is to become compacted; nothing is removed from it."""
    name, here = f"{application.alias}-stock", application.source.bootstrap_servers
    kafka_records.create_topic(here, name, 2, {"min.compaction.lag.ms": str(2**62)})
    application.produce(name, 100)
    return name


def compact(application: Application) -> None:
    """Make the stock compacted. A driver reads topic configs every 30 s: not each test waits."""
    here = application.source.bootstrap_servers
    kafka_records.set_config(here, application.stock, "cleanup.policy", "compact")


def test_it_listens_on_this_machine_only_and_no_other_user_reads_its_files(running):
    processes = tree(*(each.pid for each in running.drivers if each.returncode is None))
    assert listens(processes)
    assert reachable_ports(processes) == []
    assert open_to_others(running.home / "state") == []


def test_a_new_topic_is_copied_long_before_topics_are_listed_again(running):
    topic = running.topic()
    running.produce(topic, 500)
    wait_for(lambda: running.is_copied(topic))


def test_bl_091_partitions_added_while_records_come_are_copied_from_their_first(running):
    here, before = running.source.bootstrap_servers, running.status()
    topic = running.topic("grown", 3)
    kafka_records.produce(here, topic, kafka_records.some_records(600, 3))
    admin = KafkaAdmin({"bootstrap.servers": here})
    admin.grow_topic(topic, 6)
    wait_for(lambda: admin.topics()[topic].partitions == 6)
    for turn in range(5):
        kafka_records.produce(here, topic, kafka_records.some_records(600, 6, seed=turn))
    wait_for(lambda: running.is_copied(topic))
    assert running.status().started_ms == before.started_ms, "no restart was needed"


def test_epochs_follow_on_without_a_new_start(running):
    topic = running.topic()
    running.produce(topic, 100)
    wait_for(lambda: running.is_copied(topic))

    def follows_on(seed: int) -> bool:
        before, since = running.producers(topic), running.status().epoch
        wait_for(lambda: running.status().epoch >= since + 2)
        running.produce(topic, 100, seed)
        wait_for(lambda: running.is_copied(topic))
        return running.producers(topic) == before

    # On a busy machine Spark may plan an epoch so late that the units have ended.
    followed_on = (seed for seed in range(2, 7) if follows_on(seed))
    assert len([*itertools.islice(followed_on, 2)]) == 2


def test_a_source_that_is_down_is_reported_and_holds_up_no_other_flow(running):
    """BL-106."""
    status = running.await_state(FlowState.FAILED, "down->B")
    assert "127.0.0.1:1" in status.reason
    assert "\n" not in status.reason
    assert running.status().state == FlowState.RUNNING


def test_its_heartbeats_on_the_target_are_a_moment_old(running):
    def age_ms():  # with what the command takes to read them
        found = CliRunner().invoke(app, ["heartbeats", str(running.config), "-o", "json"])
        assert found.exit_code == 0, found.output
        ages = {(each["source"], each["target"]): each["ms"] for each in json.loads(found.stdout)}
        return ages[running.alias, "B"]

    young = 0  # looks that are 5 s apart see different beats; on a busy machine some may be older
    for _ in range(8):
        young += age_ms() < 5000
        if young == 3:
            break
        time.sleep(5)
    assert young == 3


def test_groups_go_along_and_the_driver_says_so(running):
    topic, group = running.topic(), f"{running.alias}-shop"
    running.produce(topic, 200)
    wait_for(lambda: running.is_copied(topic))
    at = {
        servers: Consumer({"bootstrap.servers": servers, "group.id": group})
        for servers in running.both
    }
    source, target = at.values()
    source.commit(offsets=[TopicPartition(topic, 0, 40)], asynchronous=False)
    copy = TopicPartition(f"{running.alias}.{topic}", 0)
    wait_for(lambda: target.committed([copy], 10)[0].offset == 40)
    duty = TaskReport(running.flow, "group offsets")

    def it_is_told():
        found = running.state(status_topic(running.alias)).get(duty.key())
        return found is not None and found.ok and found.good_ms == found.at_ms

    wait_for(it_is_told)
    for each in at.values():
        each.close()


def test_met_01_metrics_tell_what_was_copied_of_each_partition(running):
    topic = running.topic()
    truth = kafka_records.some_records(300, 2, seed=5)
    kafka_records.produce(running.source.bootstrap_servers, topic, truth)
    wait_for(lambda: running.is_copied(topic))
    labels = {"source": running.alias, "target": "B", "topic": topic}
    labels["target_topic"] = f"{running.alias}.{topic}"

    def all_is_told(found):
        for number in ("0", "1"):
            ours = {**labels, "partition": number}
            count = sum(str(each[0]) == number for each in truth)
            assert found.of("isthmus_records_total", **ours) == count
            assert found.of("isthmus_replication_latency_seconds_count", **ours) == count
            assert found.of("isthmus_lag_records", **ours) == 0
            assert found.of("isthmus_lag_seconds", **ours) == 0
            age = found.of("isthmus_record_age_seconds_sum", **ours)
            assert 0 <= age <= found.of("isthmus_replication_latency_seconds_sum", **ours)
        assert found.of("isthmus_flow_state", source=running.alias, state="RUNNING") == 1
        assert found.of("isthmus_flow_state", source="down", state="FAILED") == 1
        assert found.of("isthmus_cluster_answers", source="down", cluster="down") == 0
        assert found.of("isthmus_copy_cpu_seconds_total", source=running.alias) > 0
        assert found.of("isthmus_duty_ok", source=running.alias, duty="heartbeats") == 1

    running.await_scrape(all_is_told)
    wait_for(lambda: pushed_records(running, labels) == {"0": 150, "1": 150})


def pushed_records(running: Application, labels: dict[str, str]) -> dict[str, int]:
    """Return the copied records of a topic's partitions, as the newest push over OTLP has them."""
    if not running.endpoint.pushed:
        return {}
    points = running.endpoint.metrics()["isthmus_records_total"].sum.data_points
    listed = [(attributes(each.attributes), each.as_double) for each in points]
    return {own.pop("partition"): int(n) for own, n in listed if labels.items() <= own.items()}


def test_a_paused_flow_copies_nothing_until_it_is_resumed(running):
    topic = running.topic()
    running.produce(topic, 10)
    wait_for(lambda: running.is_copied(topic))
    group, where = f"reads-{topic}", [TopicPartition(topic, 0, 0), TopicPartition(topic, 1, 0)]
    consumer = Consumer({"bootstrap.servers": running.source.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=where, asynchronous=False)
    consumer.close()

    def the_group_is_told(found):
        assert found.of("isthmus_group_rpo_records", source=running.alias, group=group) == 0

    running.await_scrape(the_group_is_told)
    running.ask(Desired.PAUSE)
    running.await_state(FlowState.PAUSED)
    running.produce(topic, 10, seed=2)
    time.sleep(1)
    assert not running.is_copied(topic)

    def it_is_told(found):
        assert found.of("isthmus_lag_records", source=running.alias, topic=topic) == 10
        assert found.of("isthmus_rpo_records", source=running.alias, topic=topic) == 10
        assert found.of("isthmus_rpo_bytes", source=running.alias, topic=topic) > 10
        assert found.of("isthmus_group_rpo_records", source=running.alias, group=group) == 10
        assert found.of("isthmus_flow_wanted", source=running.alias) == 0

    running.await_scrape(it_is_told)
    running.ask(Desired.RUN)
    wait_for(lambda: running.is_copied(topic))


def test_a_topic_that_became_compacted_is_copied_in_transactions_from_then_on(running):
    topic = running.stock
    notice = r"[2-9] partitions use transactions"  # other tests' heartbeats may be among them
    wait_for(lambda: re.search(notice, running.status().reason))
    keyed = [(n % 2, b"%d" % n, b"v") for n in range(100)]  # it takes no others any more
    kafka_records.produce(running.source.bootstrap_servers, topic, keyed)
    wait_for(lambda: running.is_copied(topic))
    wait_for(lambda: modes(running, topic) == {Mode.TRANSACTIONAL})


@pytest.mark.parametrize(
    ("state", "reported"),
    [
        pytest.param("state", "another driver on this machine copies", id="same state directory"),
        pytest.param("elsewhere", "is copied by another driver: process", id="elsewhere"),
    ],
)
def test_a_second_driver_is_refused(running, state, reported):
    """BL-110."""
    running.await_state(FlowState.RUNNING)
    before = running.status()
    second = running.start(state)
    assert second.wait(180) == 75
    assert reported in running.log(state)
    assert "Traceback" not in running.log(state)
    assert running.status().instance == before.instance


def test_a_topic_deleted_at_the_source_is_named_and_holds_up_no_other(running):
    # Its units may also end because a busy machine plans an epoch late: then another is deleted.
    assert any(the_same_producers_continue(running) for _ in range(3))


def the_same_producers_continue(running) -> bool:
    """Delete a topic, and create it again; say whether another's producers have gone on."""
    gone, other, here = running.topic("gone"), running.topic(), running.source.bootstrap_servers
    for topic in (gone, other):
        running.produce(topic, 100)
    wait_for(lambda: running.is_copied(gone) and running.is_copied(other))
    running.await_state(FlowState.RUNNING)
    before = running.producers(other)
    kafka_records.delete_topics(here, gone)
    for seed in range(2, 12):  # while the driver finds out
        running.produce(other, 20, seed)
        wait_for(lambda: running.is_copied(other))
    status = running.await_state(FlowState.DEGRADED)
    assert status.reason.startswith(f"deleted at the source: {gone}; what was copied is kept")
    running.produce(other, 20, seed=99)
    wait_for(lambda: running.is_copied(other))
    continued = running.producers(other) == before

    found = CliRunner().invoke(app, ["status", str(running.config), "-o", "json"])
    assert found.exit_code == 1
    (flow,) = [e for e in json.loads(found.stdout)["flows"] if e["flow"] == running.flow]
    (topic,) = [each for each in flow["topics"] if each["topic"] == gone]
    assert (flow["healthy"], topic["lag_records"]) == (False, None)
    assert {each["state"] for each in topic["partitions"]} == {"SOURCE_DELETED"}

    def it_is_counted(found):
        labels = {"source": running.alias, "state": "SOURCE_DELETED"}
        assert found.of("isthmus_partitions", **labels) == 2
        ours = {"topic": gone, "target_topic": f"{running.alias}.{gone}"}
        for number in ("0", "1"):
            assert found.of("isthmus_partition_not_running", partition=number, **labels, **ours)

    running.await_scrape(it_is_counted)
    lines = [each for each in running.log().splitlines() if "not copied any more" in each]
    assert sum(gone in each for each in lines) == 1
    assert not any(other in each for each in lines)

    kafka_records.create_topic(here, gone, 2)
    wait_for(lambda: states(running, gone) == {PartitionState.SOURCE_RECREATED})
    resolve = ["resolve", str(running.config), "continue", "--flow", running.flow, "--topic", gone]
    resolved = CliRunner().invoke(app, resolve)
    assert resolved.exit_code == 0, resolved.output
    running.await_state(FlowState.RUNNING)
    wait_for(lambda: states(running, gone) == {PartitionState.RUNNING})  # with its next anchors
    return continued


def states(running: Application, topic: str) -> set[str]:
    return {each.state for each in anchors(running, topic)}


def modes(running: Application, topic: str) -> set[str]:
    return {each.mode for each in anchors(running, topic)}


def anchors(running: Application, topic: str) -> list[Anchor]:
    found = running.state(anchors_topic(running.alias)).values()
    return [each for each in found if isinstance(each, Anchor) and each.topic == topic]
