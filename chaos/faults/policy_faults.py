"""Faults of topic configs: a cleanup.policy that is another one for a while."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from chaos.application import SOURCE
from chaos.faults.scene import side_of
from chaos.schedule import Side
from chaos.topics.chaos_topics import COMPACTED, TOPICS
from replication.errors import ReplicationError
from replication.state import COMPACT, PRODUCERS_TOPIC, anchors_topic, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

STATE_TOPICS = (anchors_topic(SOURCE), offsets_topic(SOURCE), PRODUCERS_TOPIC)
_NAMED = ("cleanup.policy", "segment.ms")  # of a state topic, set when it is created
_EXPIRING = {"cleanup.policy": "delete", "retention.ms": "1000", "segment.ms": "1000"}
_SET_BACK_S = 60.0
_REPORTED_S = 35.0  # a driver reads the configs of its topics every 20 s


def compact(scene: Scene, fault: ScheduledFault) -> str:
    """Compact a data topic or its copy for a while; every second time a driver is killed in it."""
    side = side_of(fault)
    able = [each.name for each in TOPICS if each.may_be_compacted]
    topic = able[fault.pick % len(able)]
    name = topic if side is Side.SOURCE else f"{SOURCE}.{topic}"
    scene.stage.done.compact(topic, side)
    with changed(scene, side, name, COMPACTED, dict.fromkeys(COMPACTED)):
        scene.stage.over.wait(fault.for_s)
        if fault.pick & 4:
            scene.kill_driver()
    killed = ", and the driver killed" if fault.pick & 4 else ""
    return f"{name} for {fault.for_s:.0f} s{killed}"


def expire_state(scene: Scene, fault: ScheduledFault) -> str:
    """Let a state topic delete what is older than a second, as an operator might by mistake.

    The flow must say so if a driver runs for long enough. Every second time the driver is killed
    afterwards, so that what is left has to be enough.
    """
    name, began = STATE_TOPICS[fault.pick % len(STATE_TOPICS)], time.monotonic()
    scene.stage.done.state_lost = True
    first = scene.monitor.status.instance
    with changed(scene, Side.TARGET, name, _EXPIRING, settings_of(scene, name)):
        reported = scene.monitor.await_reason(name, fault.for_s)
        outcome = f"the flow says so after {time.monotonic() - began:.0f} s"
        scene.stage.over.wait(max(0.0, fault.for_s - (time.monotonic() - began)))
        silent = not reported and time.monotonic() - began >= _REPORTED_S
        if silent and scene.monitor.status.instance == first and scene.monitor.is_running():
            scene.problems.append(f"{name} had retention for {fault.for_s:.0f} s, never said")
    if fault.pick & 4:
        scene.kill_driver()
    killed = ", then the driver killed" if fault.pick & 4 else ""
    return f"{name} for {fault.for_s:.0f} s; {outcome if reported else 'not reported'}{killed}"


def settings_of(scene: Scene, name: str) -> dict[str, str | None]:
    """Return what has to be set to give a state topic its configs back."""
    found = scene.stage.admin(Side.TARGET).topic_settings([name])[name]
    kept = {key: found[key].value for key in _NAMED}
    return {"retention.ms": None, **kept, "cleanup.policy": COMPACT}


@contextlib.contextmanager
def changed(
    scene: Scene,
    side: Side,
    topic: str,
    configs: Mapping[str, str],
    back: Mapping[str, str | None],
) -> Iterator[None]:
    """Set a topic's configs, and set them back at the end. Raises ReplicationError."""
    admin = scene.stage.admin(side)
    try:
        admin.alter_configs(topic, configs)
        yield
    finally:
        _set_back(scene, side, topic, back)


def _set_back(scene: Scene, side: Side, topic: str, configs: Mapping[str, str | None]) -> None:
    deadline = time.monotonic() + _SET_BACK_S
    while True:
        try:
            scene.stage.admin(side).alter_configs(topic, configs)
        except ReplicationError as error:
            if topic not in _existing(scene, side):
                return
            if time.monotonic() > deadline:
                scene.problems.append(f"the configs of {topic} were not set back: {error}")
                return
            time.sleep(1.0)
        else:
            return


def _existing(scene: Scene, side: Side) -> set[str]:
    try:
        return scene.stage.admin(side).topic_names()
    except ReplicationError:
        return {*STATE_TOPICS, *(each.name for each in TOPICS)}  # not known
