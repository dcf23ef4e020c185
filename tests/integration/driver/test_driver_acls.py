"""A Spark driver with all tasks and only the ACLs that `isthmus acls needed` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.error import HTTPError

import dagster as dg
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from support.brokers.secured_broker import PASSWORD
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from support.security.certificate_stores import identity, write_jks
from support.security.planted_secrets import in_arguments, in_bytes, in_files, in_topics
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.dagster.background_tasks.task_list import flow_tasks
from orchestration.dagster.background_tasks.task_schedules import build_task
from orchestration.dagster.resources import Isthmus
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.config.load import load_config
from replication.mm2.wire import Checkpoint, Heartbeat, OffsetSync, parse_all
from replication.model import FlowState, PartitionState
from replication.planning.required_acls import needed
from replication.state import AbsentTopic, TaskReport, status_topic

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

ALL_DUTIES = """
clusters = SOURCE, B, C
C.bootstrap.servers = 127.0.0.1:1
C->SOURCE.enabled = true
SOURCE->B.groups = SOURCE-.*
copy.epoch.seconds = 5
dead.letters.enabled = true
sync.group.offsets.enabled = true
sync.group.offsets.interval.seconds = 1
emit.checkpoints.interval.seconds = 1
emit.offset-syncs.enabled = true
offset-syncs.topic.location = target
sync.topic.configs.interval.seconds = 2
sync.topic.acls.interval.seconds = 2
config.providers = file, dir, env
config.providers.dir.class = org.apache.kafka.common.config.provider.DirectoryConfigProvider
config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider
metrics.port = 0
metrics.user = prometheus
metrics.password = ${file:HOME/secrets.properties:metrics}
metrics.otlp.endpoint = http://127.0.0.1:1/v1/metrics
metrics.otlp.headers = authorization=Bearer hush-of-push
alert.webhook.url = http://me:hush-of-webhook@127.0.0.1:1/hush-of-webhook
spark.conf.spark.authenticate.secret = hush-of-spark
spark.conf.spark.hadoop.fs.s3a.secret.key = ${dir:HOME/mounted:storage}
B.ssl.truststore.location = HOME/trust.jks
B.ssl.truststore.password = hush-of-truststore
spark.conf.spark.eventLog.enabled = true
spark.conf.spark.eventLog.compress = false
spark.conf.spark.eventLog.dir = HOME/events
"""
IN_ENVIRONMENT = "${env:ISTHMUS_TEST_PASSWORD}"
DUTIES = {"heartbeats", "group offsets", "checkpoints", "offset syncs", "topic configs", "ACLs"}
COMMANDS = (
    ("check",), ("check", "-o", "json"), ("check", "--clusters"), ("plan",), ("status",),
    ("status", "-o", "json"), ("heartbeats",), ("topology",), ("doctor",), ("apply",), ("losses",),
)  # fmt: skip
HEARTBEATS = {"heartbeats": "C", "C.heartbeats": "D"}  # topics of the source: from where
TRANSACTIONAL = "1 partition uses transactions: exactly-once for read_committed consumers"


class Guest(Application):
    """A driver whose user has the rights that its file needs, and no other ones."""

    def __init__(self, guards, home) -> None:
        self.guards = guards
        clusters = (each.cluster for each in guards)
        (home / "events").mkdir(parents=True)
        (home / "secrets.properties").write_text("metrics = hush-of-metrics\n")
        (home / "mounted").mkdir()
        (home / "mounted" / "storage").write_text("hush-of-storage")
        write_jks(home / "trust.jks", identity(), trust=True)
        placed = PASSWORD, IN_ENVIRONMENT
        logins = tuple(
            each.login("driver", password) for each, password in zip(guards, placed, strict=True)
        )
        super().__init__(*clusters, home, ALL_DUTIES.replace("HOME", str(home)), logins)
        self.refused_before = [len(each.refusals) for each in guards]

    def grant(self, without: str = "") -> None:
        """Grant all, but for an operation on the source."""
        every = needed(load_config(self.config).config)
        needs = [each for each in every if each.flow == self.flow]
        for name, guard in zip((self.alias, "B"), self.guards, strict=True):
            mine = [each for each in needs if each.cluster == name]
            rights = [(each.resource, operation) for each in mine for operation in each.operations]
            spared = without if name == self.alias else ""
            guard.allow_only((each for each in rights if each[1] != spared), "driver")

    def refused(self) -> set[str]:
        """Return what the brokers have refused the driver."""
        pairs = zip(self.guards, self.refused_before, strict=True)
        found = [each for guard, before in pairs for each in guard.refusals[before:]]
        return {what for who, what in found if who == "driver"}

    def reports(self) -> dict[str, TaskReport]:
        found = self.state(status_topic(self.alias)).values()
        return {each.name: each for each in found if isinstance(each, TaskReport)}

    def emitted(self, topic: str, parse) -> list:
        client = {"bootstrap.servers": self.target.bootstrap_servers}
        return list(parse_all(parse, InternalTopicClient(client).read(topic)))


@pytest.fixture
def guest(guarded_clusters, tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_TEST_PASSWORD", PASSWORD)
    made = Guest(guarded_clusters, tmp_path / "app")
    yield made
    made.close()
    for each in guarded_clusters:
        each.allow_only((), "driver")
    kafka_records.delete_topics(made.source.bootstrap_servers, *HEARTBEATS)


def beat(bootstrap: str, topic: str, source: str, target: str) -> None:
    kafka_records.create_topic(bootstrap, topic)
    sign = Heartbeat(source, target, 1)
    kafka_records.produce(bootstrap, topic, [(0, sign.key(), sign.value())])


def commit(bootstrap: str, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def no_secret_is_anywhere(guest) -> None:
    """SEC: of a driver that runs with passwords of every kind, and of the command beside it."""
    with pytest.raises(HTTPError, match="401"):
        guest.scrape()
    assert in_arguments() == []
    for place in ("secrets.properties", "mounted", "isthmus.properties"):
        assert in_files(guest.home / place), "where they are, they are found"
    assert list((guest.home / "events").rglob("events_*")), "Spark wrote its event log"
    assert in_files(guest.home / "state", guest.home / "events", guest.home / "state.log") == []
    for each in guest.both:
        names = AdminClient({"bootstrap.servers": each}).list_topics(timeout=20).topics
        own = [name for name in names if "isthmus" in name or name.endswith(".internal")]
        assert in_topics(each, own) == []
    right, wrong = guest.config, guest.home / "wrong.properties"
    text = right.read_text().replace(IN_ENVIRONMENT, "hush-of-nobody")
    wrong.write_text(text)
    for file, succeeds in ((right, True), (wrong, False)):
        history = dagster_run(guest, file, succeeds=succeeds)
        assert in_files(history) == []
        for command in COMMANDS:
            ran = CliRunner().invoke(app, [command[0], str(file), *command[1:]])
            printed = ran.output + repr(ran.exception)
            assert len(printed) > 20, command
            assert not in_bytes(printed.encode()), command


def dagster_run(guest, file, *, succeeds: bool) -> Path:
    """Let Dagster sync the topic configs of a file; return where its history of that is."""
    history, config = guest.home / f"dagster-{file.stem}", load_config(file).config
    tasks = {(flow.name, task.name): (flow, task) for flow, task in flow_tasks(config)}
    made = build_task(*tasks[guest.flow, "topic_configs"])
    isthmus = Isthmus(config_path=str(file), home_path=str(guest.home / "state"))
    history.mkdir()
    with dg.DagsterInstance.local_temp(str(history)) as instance:
        run = dg.materialize(
            list(made.assets or []), instance=instance, resources={"isthmus": isthmus},
            raise_on_error=False,
        )  # fmt: skip
        assert run.success is succeeds
        printed = str([each.to_json() for each in instance.all_logs(run.run_id)])
    assert not in_bytes(printed.encode())
    return history


def is_ok(report) -> bool:
    return report.ok


def test_bl_083_a_driver_with_the_needed_rights_lacks_nothing_and_only_reads_its_source(guest):
    here, there = guest.both
    topic, stock, group = guest.topic(), f"{guest.alias}-stock", f"{guest.alias}-shop"
    kafka_records.create_topic(here, stock, 1, {"cleanup.policy": "compact"})
    kafka_records.produce(here, stock, [(0, b"%d" % each, b"v") for each in range(50)])
    guest.produce(topic, 200)
    commit(here, group, topic, 40)
    for name, source in HEARTBEATS.items():
        beat(here, name, source, guest.alias)
    guest.grant()
    guest.start()
    guest.await_state(FlowState.RUNNING)

    wait_for(lambda: guest.is_copied(topic) and guest.is_copied(stock))
    admins = [KafkaAdmin({"bootstrap.servers": each}) for each in guest.both]
    admins[0].grow_topic(topic, 3)
    admins[0].alter_configs(topic, {"segment.ms": "70000"})
    copy = f"{guest.alias}.{topic}"
    wait_for(lambda: admins[1].topic_configs([copy])[copy].get("segment.ms") == "70000")
    wait_for(lambda: admins[1].topics()[copy].partitions == 3)
    copies = {f"{guest.alias}.heartbeats", f"{guest.alias}.C.heartbeats"}
    assert copies <= admins[1].topics().keys()

    shop = Consumer({"bootstrap.servers": there, "group.id": group})
    wait_for(lambda: shop.committed([TopicPartition(copy, 0)], 10)[0].offset == 40)
    shop.close()
    stands = wait_for(
        lambda: guest.emitted(f"{guest.alias}.checkpoints.internal", Checkpoint.parse)
    )
    assert (group, copy, 40, 40) in {(e.group, e.topic, e.upstream, e.downstream) for e in stands}
    guest.produce(topic, 100, seed=2)  # a pair of offsets is known from the second anchor on
    wait_for(lambda: guest.emitted(f"mm2-offset-syncs.{guest.alias}.internal", OffsetSync.parse))
    beats = guest.emitted("heartbeats", Heartbeat.parse)
    assert (guest.alias, "B") in {(each.source, each.target) for each in beats}

    wait_for(
        lambda: (found := guest.reports()).keys() == DUTIES and all(map(is_ok, found.values()))
    )
    wait_for(lambda: guest.status().reason == TRANSACTIONAL)
    assert guest.refused() == set()
    no_secret_is_anywhere(guest)

    guest.grant(without="DESCRIBE_CONFIGS")
    late = guest.topic("late")
    guest.produce(late, 100)
    wait_for(lambda: guest.is_copied(late))
    wait_for(lambda: "Isthmus' user needs DESCRIBE_CONFIGS on topic" in guest.status().reason)
    guest.await_state(FlowState.RUNNING)

    guest.guards[0].allow_only((), "driver")  # READ alone would still imply DESCRIBE
    hidden = "not shown by the source any more: "
    wait_for(lambda: hidden in guest.status().reason)
    guest.await_state(FlowState.DEGRADED)

    def absent() -> dict[str, str]:
        found = guest.state(status_topic(guest.alias)).values()
        return {each.topic: each.state for each in found if isinstance(each, AbsentTopic)}

    wait_for(lambda: {late, topic} <= absent().keys())  # they are hidden one after the other
    assert absent()[late] == absent()[topic] == PartitionState.SOURCE_DENIED
    guest.grant()
    guest.produce(late, 100, seed=2)
    guest.await_state(FlowState.RUNNING)
    wait_for(lambda: guest.is_copied(late))
