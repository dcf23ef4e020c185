"""ACLs on real brokers with an authorizer: synced ones, and those that Isthmus needs."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from support.copier.unit_specs import changed
from support.flows import copier_flows
from support.flows.waiting import await_equal
from support.records import kafka_records
from support.records.kafka_records import consume_all

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.clients import KafkaClients
from replication.adapters.topics.state_store import StateStore
from replication.client.acl_values import Acl, Resource
from replication.config.load import load_config
from replication.errors import ClusterRejected
from replication.model import PartitionPlan, PartitionState, TopicPartition
from replication.naming.selection import gap
from replication.planning.execute import execute
from replication.planning.explain import explain_action
from replication.planning.planner import Planner
from replication.planning.required_acls import needed
from replication.state import FlowStatus, anchors_topic, status_topic

pytestmark = pytest.mark.integration


OUTPUT = ("; Isthmus' user needs ", "cannot be read")  # of what is left as it is


class Mirror:
    """A flow of its own names between the two, run by a user who has some rights."""

    def __init__(self, guards, folder, alias: str) -> None:
        self.source, self.target = guards
        self.alias, self.topic = alias, f"{alias}-orders"
        self.file = folder / f"{alias}.properties"
        lines = [f"clusters = {alias}, B", f"{alias}->B.enabled = true"]
        for name, guard in ((alias, self.source), ("B", self.target)):
            lines += [f"{name}.{key} = {value}" for key, value in guard.login().items()]
        lines += [f"{alias}->B.topics = {alias}-.*", "replication.factor = 1"]
        lines += ["emit.heartbeats.enabled = false"]
        self.file.write_text("\n".join(lines) + "\n")
        self.config = load_config(self.file).config
        self.rights = [
            (need.cluster, need.resource, operation)
            for need in needed(self.config)
            for operation in need.operations
        ]

    def grant(self, *without: tuple[str, str, str]) -> None:
        """Grant all rights but those ``without``: (cluster, kind or name, operation)."""
        for name, guard in ((self.alias, self.source), ("B", self.target)):
            guard.allow_only(
                (resource, operation)
                for cluster, resource, operation in self.rights
                if cluster == name
                and not any(
                    (cluster, operation) == (c, o) and what in {resource.kind, resource.name}
                    for c, what, o in without
                )
            )

    def plan_and_apply(self) -> list[str]:
        """Carry the file out with new clients; return what was said that is not well."""
        planner = Planner(self.config, KafkaClients())
        try:
            plan = planner.plan("B")
            outcomes = list(execute(plan, planner, "a test"))
        except ClusterRejected as error:
            return [str(error)]
        unseen = [gap(each.selector, each.topics) for each in plan.sources if not each.chosen]
        reported = [
            f"{explain_action(each.action)}: {each.problem}"
            for each in outcomes
            if each.failed or any(word in explain_action(each.action) for word in OUTPUT)
        ]
        return [*plan.problems, *unseen, *reported]

    def copy(self) -> list[str]:
        """Copy for two epochs, the second after an unclean end; return what is not well.

        Longer ones follow where all is well, but not all has been copied in that time.
        """
        source, target = (
            TopicPartition(self.topic, 0),
            TopicPartition(f"{self.alias}.{self.topic}", 0),
        )
        flow = copier_flows.Flow(
            self.source.cluster, self.target.cluster, {self.topic: 1}, self.alias
        )
        spec = flow.spec(
            1,
            partitions=(PartitionPlan(source, target),),
            source=self.source.login(),
            target=self.target.login(),
            delivery="append",
        )
        reported: list[str] = []
        generations = itertools.count(1)
        for turn, epoch_s in enumerate((1, 1, 2, 4, 8, 16, 32)):
            try:
                report, anchors = begun(flow, changed(spec, epoch_s=epoch_s), generations)
            except ClusterRejected as error:
                return [str(error)]
            reported += [] if report.outcome == "clean" else [report.outcome]
            reported += [
                f"{each.state}: {each.reason}" for each in anchors if each.state != "RUNNING"
            ]
            unclean = [replace(each, clean=False) for each in anchors]
            flow.store.write(anchors_topic(self.alias), *unclean)
            if turn and (reported or self.is_copied()):
                return reported
        return ["not all was copied"]

    def is_copied(self) -> bool:
        copy = f"{self.alias}.{self.topic}"
        theirs = [each.content for each in consume_all(self.source.everyone, self.topic)]
        return theirs == [each.content for each in consume_all(self.target.everyone, copy)]

    def everything(self) -> list[str]:
        """Make, copy, grow and alter; return the first things that are not well."""
        here = self.source.everyone
        kafka_records.create_topic(here, self.topic, 1, {"retention.ms": "-1"})
        kafka_records.produce(here, self.topic, kafka_records.some_records(50))
        if reported := self.plan_and_apply() or self.copy():
            return reported
        admin = self.source.admin
        admin.grow_topic(self.topic, 2)
        admin.alter_configs(self.topic, {"segment.ms": "60000"})
        await_equal(lambda: admin.topics()[self.topic].partitions, 2)
        await_equal(
            lambda: admin.topic_configs([self.topic])[self.topic].get("segment.ms"), "60000"
        )
        return self.plan_and_apply()


def begun(flow, spec, generations):
    """Copy for an epoch, or for more where one was over before partitions were more than claimed.

    Return the last report and the anchors.
    """
    while True:
        report = copier_flows.copy_by_time(replace(spec, generation=next(generations)))
        anchors = [*flow.anchors().values()]
        if not any(e.state == PartitionState.WAITING and not e.reason for e in anchors):
            return report, anchors


@pytest.fixture
def mirror(guarded_clusters, tmp_path, topic_name):
    return Mirror(guarded_clusters, tmp_path, topic_name("m").replace("-", ""))


def test_the_needed_rights_are_enough(mirror):
    mirror.grant()
    assert mirror.everything() == []
    copy, target = f"{mirror.alias}.{mirror.topic}", mirror.target.admin
    await_equal(lambda: target.topic_configs([copy])[copy].get("segment.ms"), "60000")
    await_equal(lambda: target.topics()[copy].partitions, 2)
    assert mirror.plan_and_apply() == []


@pytest.mark.parametrize(
    ("cluster", "what", "operation", "output"),
    [
        pytest.param(
            "A",
            "topic",
            "READ",
            "lists no topics: it has none, or Isthmus' user may not describe them",
            id="READ of the source's topics",
        ),
        pytest.param(
            "A",
            "topic",
            "DESCRIBE_CONFIGS",
            "Isthmus' user needs DESCRIBE_CONFIGS",
            id="their configs",
        ),
        pytest.param(
            "A",
            "cluster",
            "DESCRIBE",
            "Isthmus' user needs DESCRIBE on the cluster",
            id="the source's rights",
        ),
        pytest.param("B", "topic", "CREATE", "Authorization failed", id="CREATE on the target"),
        pytest.param("B", "topic", "WRITE", "Topic authorization failed", id="WRITE"),
        pytest.param(
            "B", "topic", "READ", "Isthmus' user needs READ on it", id="READ of copies and state"
        ),
        pytest.param("B", "topic", "ALTER", "increasing topic", id="ALTER, to grow"),
        pytest.param(
            "B",
            "topic",
            "ALTER_CONFIGS",
            "segment.ms: altering configs of topic",
            id="ALTER_CONFIGS",
        ),
        pytest.param(
            "B",
            "cluster",
            "ALTER",
            "Isthmus' user needs ALTER on the cluster",
            id="ALTER of the cluster, to set rights",
        ),
        pytest.param(
            "B",
            "transactional_id",
            "WRITE",
            "allow Isthmus' user WRITE and DESCRIBE on the TransactionalId isthmus.",
            id="the transactional id",
        ),
    ],
)
def test_without_one_of_them_something_is_reported(mirror, cluster, what, operation, output):
    mirror.grant((mirror.alias if cluster == "A" else "B", what, operation))
    reported = mirror.everything()
    assert reported
    assert output in reported[0]


def test_bl_082_who_may_not_create_topics_uses_those_that_are_there(mirror):
    client = {"bootstrap.servers": mirror.target.everyone}
    StateStore(client, 1).ensure_topics(mirror.alias)
    mirror.grant(("B", "topic", "CREATE"))
    ours = StateStore(to_librdkafka(mirror.target.login()), 1)
    ours.ensure_topics(mirror.alias)
    ours.write(status_topic(mirror.alias), FlowStatus("A->B"))
    with pytest.raises(ClusterRejected, match=r"creating topic isthmus-anchors\.other\.internal"):
        ours.ensure_topics("other")
    ours.close()


def test_rights_follow_on_real_brokers(mirror):
    mirror.grant()
    kafka_records.create_topic(mirror.source.everyone, mirror.topic)
    here = Resource("topic", mirror.topic)
    there = Resource("topic", f"{mirror.alias}.{mirror.topic}")
    theirs = {
        Acl(here, "User:ann", "*", "READ"),
        Acl(here, "User:ann", "*", "WRITE"),
        Acl(here, "User:bob", "10.0.0.1", "ALL"),
        Acl(here, "User:eve", "*", "ALL", "deny"),
        Acl(Resource("topic", f"{mirror.alias}-", "prefixed"), "User:fin", "*", "READ"),
    }
    assert not mirror.source.admin.create_acls(theirs)
    mirror.plan_and_apply()
    expected = {
        Acl(there, "User:ann", "*", "READ"),
        Acl(there, "User:bob", "10.0.0.1", "READ"),
        Acl(there, "User:eve", "*", "ALL", "deny"),
        Acl(
            Resource("topic", f"{mirror.alias}.{mirror.alias}-", "prefixed"),
            "User:fin",
            "*",
            "READ",
        ),
    }
    await_equal(lambda: copied_acls(mirror), expected)
    planner = Planner(mirror.config, KafkaClients())
    assert [each for each in planner.plan("B").actions if type(each).__name__ == "Grant"] == []


def copied_acls(mirror: Mirror) -> set[Acl]:
    mine = {each for each in mirror.target.admin.acls() if each.principal != "User:mirror"}
    return {each for each in mine if mirror.alias in each.resource.name}


def test_needed_rights_are_printed_for_people_programs_and_shells(mirror):
    def printed(*options: str) -> str:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "orchestration.cli.main",
                "acls",
                "needed",
                str(mirror.file),
                *options,
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=200,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        )
        return done.stdout

    assert f"topic {mirror.alias}.* (prefixed)" in printed()
    assert {each["principal"] for each in json.loads(printed("-o", "json"))} == {"User:mirror"}
    line = next(each for each in printed("-o", "commands").splitlines() if "transactional" in each)
    assert line == (
        f"kafka-acls.sh --bootstrap-server {mirror.target.logins} --command-config B.properties "
        f"--add --allow-principal User:mirror --transactional-id 'isthmus.{mirror.alias}->B' "
        "--resource-pattern-type prefixed --operation Write"
    )
