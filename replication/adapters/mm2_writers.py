"""What writes a flow's records in MirrorMaker 2's formats, with its connections.

Making one costs nothing and asks no cluster: clients are made when they are first needed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from replication.adapters.client_config import to_librdkafka
from replication.adapters.internal_topics import InternalTopics
from replication.adapters.offset_reader import OffsetReader, group_sync
from replication.mm2.checkpoints import Recorder, Stand
from replication.mm2.heartbeats import Pulse
from replication.mm2.syncs import Emitter
from replication.policy import policy_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.model import Config, Flow
    from replication.group_round import Moved


def pulse(flow: Flow) -> Pulse:
    """Return the writer of the flow's heartbeats, on its target."""
    client = flow.clients.target_admin
    factor = flow.mm2.heartbeats.replication_factor
    return Pulse(flow.source, flow.target, factor, lambda: _topics(client))


def pulse_back(flow: Flow) -> Pulse:
    """Return the writer of the heartbeats of the way back, on the flow's source."""
    client = flow.clients.source_admin
    factor = flow.mm2.heartbeats.replication_factor
    return Pulse(flow.target, flow.source, factor, lambda: _topics(client))


def recorder(flow: Flow, config: Config) -> Recorder:
    """Return the writer of the flow's checkpoints.

    It has connections of its own: an offset reader is not for two threads at a time.
    """
    made = cache(lambda: group_sync(flow, config))
    return Recorder(
        policy_for(flow, config.clusters).checkpoints_topic(flow.source),
        flow.mm2.checkpoints.replication_factor,
        lambda: _topics(flow.clients.target_admin),
        lambda: map(_stand, made().moved()),
    )


def _stand(moved: Moved) -> Stand:
    position = moved.position
    return Stand(moved.group, moved.target, position.offset, moved.answer.offset, position.metadata)


def emitter(flow: Flow, config: Config) -> Emitter:
    """Return the writer of offset syncs; the topic is named after the cluster it is not on."""
    at_source = flow.mm2.syncs.location == "source"
    client = flow.clients.source_admin if at_source else flow.clients.target_admin
    other = flow.target if at_source else flow.source
    made = cache(lambda: OffsetReader(flow))
    return Emitter(
        policy_for(flow, config.clusters).offset_syncs_topic(other),
        flow.mm2.syncs.replication_factor,
        lambda: _topics(client),
        lambda: list(made().look().anchors.values()),
    )


def _topics(client: Mapping[str, str]) -> InternalTopics:
    return InternalTopics(to_librdkafka(client))
