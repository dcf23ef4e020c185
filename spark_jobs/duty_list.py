"""The duties of a flow, in one place. What they do is in ``replication``; this only lists them."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from replication.adapters.client_config import to_librdkafka
from replication.adapters.internal_topics import InternalTopics
from replication.adapters.offset_reader import group_sync
from replication.mm2.heartbeats import Pulse
from spark_jobs.duties import Duty

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.config.model import Config, Flow


_OFF = timedelta(seconds=60)


def duties_of(flow: Flow, config: Config) -> Iterator[Duty]:
    """Yield what the driver is to do for ``flow`` besides copying.

    Making them costs nothing and asks no cluster: clients are made in the first run.
    """
    yield from _heartbeats(flow)
    yield _groups(flow, config)


def _groups(flow: Flow, config: Config) -> Duty:
    """Say that groups are not carried over where nobody asked for it: it is often forgotten."""
    if not flow.groups.sync:
        return Duty("group offsets", _OFF, lambda: "off: sync.group.offsets.enabled is false")
    made = cache(lambda: group_sync(flow, config))
    return Duty("group offsets", flow.groups.every, lambda: made().sync())


def _heartbeats(flow: Flow) -> Iterator[Duty]:
    beats, clients = flow.mm2.heartbeats, flow.clients
    if beats.enabled:
        forth = _pulse(flow.source, flow.target, beats.replication_factor, clients.target_admin)
        yield Duty("heartbeats", beats.every, forth.beat)
    if beats.back:
        back = _pulse(flow.target, flow.source, beats.replication_factor, clients.source_admin)
        yield Duty("heartbeats on the source", beats.every, back.beat)


def _pulse(source: str, target: str, factor: int, client: Mapping[str, str]) -> Pulse:
    return Pulse(source, target, factor, lambda: InternalTopics(to_librdkafka(client)))
