"""Faults of Isthmus' own topics: records that are gone, topics that are deleted.

Brokers delete records of a topic only if its policy allows it, so it does for the moment.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from chaos.faults.policy_faults import STATE_TOPICS, changed, settings_of
from chaos.schedule import Side
from replication.errors import ReplicationError
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

_CALL_S = 20.0
_DELETED_S = 20.0
_DELETABLE = {"cleanup.policy": "compact,delete"}
_KEPT = (0.0, 0.02, 0.2, 0.6)  # of the log, at its end


def lose(scene: Scene, fault: ScheduledFault) -> str:
    """Delete the oldest records of a state topic: of anchors those of the quiet partitions."""
    name = STATE_TOPICS[fault.pick % len(STATE_TOPICS)]
    kept = _KEPT[fault.pick >> 3 & 3]
    return _while_down(scene, fault, lambda: _lose(scene, name, kept))


def delete(scene: Scene, fault: ScheduledFault) -> str:
    """Delete a state topic, as an operator might who cleans up; a driver creates it again."""
    name = STATE_TOPICS[fault.pick % len(STATE_TOPICS)]
    return _while_down(scene, fault, lambda: _delete(scene, name))


def _while_down(scene: Scene, fault: ScheduledFault, act: Callable[[], str]) -> str:
    """Act while no driver runs, or kill the driver afterwards, or let it run on."""
    scene.stage.done.state_lost = True
    if fault.pick & 4:
        with scene.stage.locks["driver"]:
            scene.stage.application.kill_all()
            try:
                outcome = act()
                scene.stage.over.wait(fault.for_s)
            finally:
                scene.stage.application.start()
        return f"{outcome} while no driver runs"
    outcome = act()
    if fault.pick & 32:
        scene.kill_driver()
        return f"{outcome}, then the driver killed"
    return f"{outcome} under the driver"


def _lose(scene: Scene, name: str, kept: float) -> str:
    partition = TopicPartition(name, 0)
    end = _end(scene, partition)
    before = end - int(end * kept)
    client = _client(scene)
    client.list_topics(name, timeout=_CALL_S)  # a search for leaders may be lost, and costs 3 s
    with changed(scene, Side.TARGET, name, _DELETABLE, settings_of(scene, name)):
        answers = client.delete_records([ClientPartition(*partition, before)])
        for each in answers.values():
            each.result(_CALL_S)
    return f"{name} before {before} of {end}"


def _end(scene: Scene, partition: TopicPartition) -> int:
    """Return the end of a partition, whose leader may have been started again just now."""
    deadline = time.monotonic() + _CALL_S
    while True:
        try:
            return scene.stage.admin(Side.TARGET).end_offsets([partition])[partition]
        except ReplicationError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _delete(scene: Scene, name: str) -> str:
    admin = scene.stage.admin(Side.TARGET)
    former = admin.topics()[name].topic_id
    client = _client(scene)  # its calls end with it
    for each in client.delete_topics([name], operation_timeout=_CALL_S).values():
        each.result(_CALL_S)
    deadline = time.monotonic() + _DELETED_S
    while (found := admin.topics().get(name)) and found.topic_id == former:
        if time.monotonic() > deadline:
            return f"{name}, which is still there"
        time.sleep(0.2)
    scene.monitor.read_again()
    return name


def _client(scene: Scene) -> AdminClient:
    return AdminClient({"bootstrap.servers": scene.stage.servers(Side.TARGET), "log_level": 0})
