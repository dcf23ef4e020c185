"""Faults of clusters: restarts, outages, new partitions, moved leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import ElectionType, TopicCollection
from confluent_kafka.admin import AdminClient
from kafka import TopicPartition as KafkaPartition
from kafka.admin import KafkaAdminClient

from chaos.faults.scene import side_of
from chaos.schedule import FaultKind, Side
from replication.errors import ReplicationError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

_MOST_PARTITIONS = 8
_CALL_S = 20.0
_KNOWN_S = 2.0  # until the writers' clients know a new partition


def restart_broker(scene: Scene, fault: ScheduledFault) -> str:
    """Take one broker away, cleanly or with SIGKILL, and start it again after a while."""
    cluster = scene.stage.clusters[side_of(fault)]
    broker = 1 + fault.pick % cluster.brokers
    stop = cluster.kill if fault.kind is FaultKind.KILL_BROKER else cluster.stop_broker
    stop(broker)
    scene.stage.over.wait(fault.for_s)
    cluster.start_broker(broker)
    return f"broker {broker}, started again after {fault.for_s:.0f} s"


def outage(scene: Scene, fault: ScheduledFault) -> str:
    """Take all brokers away, every second time with SIGKILL, and start them again."""
    cluster = scene.stage.clusters[side_of(fault)]
    if fault.pick % 2:
        cluster.stop()
    else:
        for broker in range(1, cluster.brokers + 1):
            cluster.kill(broker)
    scene.stage.over.wait(fault.for_s)
    cluster.start()
    return f"{'clean' if fault.pick % 2 else 'SIGKILL'}, for {fault.for_s:.0f} s"


def grow(scene: Scene, fault: ScheduledFault) -> str:
    """Give a topic one more partition; writers use it from then on."""
    partitions = scene.stage.partitions
    able = sorted(name for name, count in partitions.items() if count < _MOST_PARTITIONS)
    if not able:
        return "all have enough"
    topic = able[fault.pick % len(able)]
    total = partitions[topic] + 1
    try:
        scene.stage.admin(Side.SOURCE).grow_topic(topic, total)
    except ReplicationError as error:
        found = scene.stage.admin(Side.SOURCE).topics()[topic].partitions  # it may have been done
        if found != total:
            return f"not done: {error}"
    scene.stage.over.wait(_KNOWN_S)
    partitions[topic] = total
    followed = scene.monitor.await_copying(TopicPartition(topic, total - 1))
    return f"{topic} has {total}; {followed}"


def move_leaders(scene: Scene, fault: ScheduledFault) -> str:
    """Let another replica lead: change the preferred one, then ask for its election."""
    servers = scene.stage.servers(side_of(fault))
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    names = sorted(client.list_topics(timeout=_CALL_S).topics)
    topic = names[fault.pick % len(names)]
    topics = client.describe_topics(TopicCollection([topic]), request_timeout=_CALL_S)
    partitions = topics[topic].result(_CALL_S).partitions
    replicas = {
        KafkaPartition(topic, each.id): [node.id for node in (*each.replicas[1:], each.replicas[0])]
        for each in partitions
    }
    admin = KafkaAdminClient(bootstrap_servers=servers, client_id="chaos")
    try:
        admin.alter_partition_reassignments(replicas)
        admin.elect_leaders(
            ElectionType.PREFERRED.value,
            {topic: [each.partition for each in replicas]},
            raise_errors=False,
        )
    finally:
        admin.close()
    return f"{len(replicas)} of {topic}"
