"""Copying for a user whom the target does not grant transactional ids, and who gets them later."""

from __future__ import annotations

import time

import pytest
import support
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from copying import WAIT_S, Flow, kill, start_unit

from replication.adapters.kafka_admin import KafkaAdmin
from replication.adapters.local_kafka import LocalCluster
from replication.adapters.local_network import free_ports
from replication.model import Mode

pytestmark = pytest.mark.integration

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SLOW = 60_000  # bytes a second: there is time to kill a unit while it copies


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Yield a broker with ACLs and the address at which the user ``mirror`` logs in."""
    cluster = LocalCluster("guarded", tmp_path_factory.mktemp("guarded"))
    cluster._create()
    (node,) = cluster._nodes
    (port,) = free_ports(1)
    listeners = f"PLAINTEXT://127.0.0.1:{node.port},SASL_PLAINTEXT://127.0.0.1:{port}"
    cluster.properties = {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{node.controller_port}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} user_mirror="secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    cluster.start()
    yield cluster, f"127.0.0.1:{port}"
    cluster.destroy()


def allow(cluster, resource, name, pattern, *operations):
    """Let ``mirror`` do ``operations``; return when the broker knows."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    rules = [
        AclBinding(resource, name, pattern, "User:mirror", "*", each, AclPermissionType.ALLOW)
        for each in operations
    ]
    for each in admin.create_acls(rules).values():
        each.result(WAIT_S)
    time.sleep(0.5)  # brokers learn of them by the metadata log


def as_mirror(address):
    return {
        "bootstrap.servers": address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="mirror" password="secret";',
    }


def values(bootstrap, topic):
    found = {0: [], 1: []}
    for each in support.consume_all(bootstrap, topic):
        found[each.partition].append(each.value)
    return found


def copy_and_die(flow, tmp_path, generation, **more):
    """Let a unit copy something and kill it; return how many records followed its last anchors."""
    began = sum(each.records for each in flow.anchors().values())
    process = start_unit(flow.spec(generation, bytes_per_second=SLOW, **more), tmp_path)
    flow.wait_for(
        lambda anchors: sum(each.records for each in anchors.values()) > began + 300, "it copies"
    )
    kill(process)
    anchors = flow.anchors()
    assert {each.mode for each in anchors.values()} == {Mode.AT_LEAST_ONCE}
    ends = KafkaAdmin({"bootstrap.servers": flow.to}).end_offsets(flow.partitions)
    return sum(ends[each] - anchors[each].target for each in flow.partitions)


def test_without_transactional_ids_only_what_followed_the_anchors_comes_again(
    source_cluster, guarded, topic_name, tmp_path
):
    cluster, address = guarded
    topic, target = topic_name(), {"target": as_mirror(address)}
    for each in (source_cluster, cluster):
        support.create_topic(each.bootstrap_servers, topic, 2)
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    allow(cluster, ResourceType.TOPIC, "*", literal, AclOperation.ALL)
    flow = Flow(source_cluster, cluster, {topic: 2})

    def feed(first: int, count: int) -> None:
        numbers = range(first, first + count)
        support.produce(
            flow.here, topic, [(n % 2, None, b"%060d" % n, None, n + 1) for n in numbers]
        )

    feed(0, 8000)
    repeats = copy_and_die(flow, tmp_path, 1, **target)
    repeats += copy_and_die(flow, tmp_path, 2, **target)
    report = flow.copy_all(3, **target)
    assert (report.outcome, report.at_least_once) == ("clean", 2)
    assert_in_order(flow, topic, repeats)

    feed(8000, 4000)
    repeats += copy_and_die(flow, tmp_path, 4, **target)
    rights = AclOperation.WRITE, AclOperation.DESCRIBE
    allow(cluster, ResourceType.TRANSACTIONAL_ID, "isthmus.", prefixed, *rights)
    report = flow.copy_all(5, **target)
    assert (report.outcome, report.at_least_once) == ("clean", 0)
    assert {each.mode for each in flow.anchors().values()} == {Mode.APPEND}
    assert_in_order(flow, topic, repeats)


def assert_in_order(flow, topic, repeats):
    """Compare what came first with the source, and count what came again."""
    wanted, found = values(flow.here, topic), values(flow.to, topic)
    assert {n: list(dict.fromkeys(each)) for n, each in found.items()} == wanted
    assert sum(map(len, found.values())) - sum(map(len, wanted.values())) <= repeats
