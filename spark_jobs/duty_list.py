"""The duties of a flow, in one place. What they do is in ``replication``; this only lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.client_config import to_librdkafka
from replication.adapters.internal_topics import InternalTopics
from replication.mm2.heartbeats import Pulse
from spark_jobs.duties import Duty

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.config.model import Config, Flow


def duties_of(flow: Flow, config: Config) -> Iterator[Duty]:  # noqa: ARG001 - for duties to come
    """Yield what the driver is to do for ``flow`` besides copying.

    Making them costs nothing and asks no cluster: clients are made in the first run.
    """
    yield from _heartbeats(flow)


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
