"""Removes all that a drill made on both clusters, also one that was killed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.flows.intents import write_intent
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.state_store import StateStore
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import Desired, FlowState
from replication.planning.explain import counted
from replication.state import (
    PROBE_TOPIC,
    PRODUCERS_TOPIC,
    FlowStatus,
    ProducerEntry,
    dead_letters_topic,
    flow_topics,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from orchestration.flows.observation.clients import ClusterClients
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state.drill_names import DrillNames

SHARED = (PRODUCERS_TOPIC, PROBE_TOPIC)  # of all flows into a cluster
_SILENT_S = 8.0  # a driver writes its status every second
_STOP_S = 40.0
_GONE_S = 20.0
_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What a drill's two flows have made; ``config`` is the drill's.

    Raises ClusterUnavailable, ClusterRejected; it may be repeated.
    """

    names: DrillNames
    config: Config
    clusters: ClusterClients

    def missing_shared(self) -> frozenset[str]:
        """Return which of the topics that all flows share are not there: ``alias/topic``."""
        return frozenset(
            f"{flow.target}/{topic}"
            for flow in self.config.flows
            for topic in set(SHARED) - _admin(flow).topic_names()
        )

    def remove(self, made: Collection[str]) -> str:
        """Remove all; ``made``: shared topics that were not there before, as ``alias/topic``."""
        for flow in self.config.flows:
            self._await_end(flow)
        removed = sum(map(self._remove_from, self.config.flows))
        left = ""
        for flow in self.config.flows:
            # After the anchors: one without its entry in the registry holds up flows from here.
            if self._forget_producers(flow):
                continue  # another flow has begun to copy meanwhile
            shared = {each for each in SHARED if f"{flow.target}/{each}" in made}
            try:
                removed += _delete(_admin(flow), shared)
            except ClusterRejected as error:  # all flows use them: DELETE may well be denied
                left += f"; left what all flows into {flow.target} share: {error}"
        return f"deleted {counted(removed, 'topic')}, and group {self.names.group}{left}"

    def _await_end(self, flow: Flow) -> None:
        """Stop the flow's driver, wherever it runs, and wait until it has ended or is silent."""
        if self._status(flow) is None:
            return
        write_intent(flow, Desired.STOP, self.clusters)
        begun = moved = time.monotonic()
        first = self._status(flow)
        while (now := time.monotonic()) - moved < _SILENT_S and now - begun < _STOP_S:
            status = self._status(flow)
            if status is None or status.state == FlowState.STOPPED:
                return
            if status != first:
                first, moved = status, now
            time.sleep(_POLL_S)

    def _status(self, flow: Flow) -> FlowStatus | None:
        records = self.clusters.store(flow).read(status_topic(flow.source))
        found = records.get(FlowStatus(flow.name).key())
        return found if isinstance(found, FlowStatus) else None

    def _remove_from(self, flow: Flow) -> int:
        """Remove what is the drill's own on the target of ``flow``; return how many topics."""
        admin = _admin(flow)
        own = {self.names.topic, *flow_topics(flow.source), dead_letters_topic(flow.source)}
        admin.delete_groups([self.names.group])
        return _delete(admin, own)

    def _forget_producers(self, flow: Flow) -> bool:
        """Remove the drill's entries from the registry; say whether it has entries of others."""
        if PRODUCERS_TOPIC not in _admin(flow).topic_names():
            return False
        store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
        try:
            entries = [
                e for e in store.read(PRODUCERS_TOPIC).values() if isinstance(e, ProducerEntry)
            ]
            ours = [each for each in entries if each.flow == flow.name]
            store.remove(PRODUCERS_TOPIC, *ours)
        finally:
            store.close()
        return len(ours) < len(entries)


def _admin(flow: Flow) -> KafkaAdmin:
    return KafkaAdmin(to_librdkafka(flow.clients.target_admin))


def _delete(admin: KafkaAdmin, names: Collection[str]) -> int:
    """Delete those that are there, and wait until they are gone; return how many."""
    there = set(names) & admin.topic_names()
    if there:
        admin.delete_topics(there)
    deadline = time.monotonic() + _GONE_S
    while left := sorted(set(there) & admin.topic_names()):
        if time.monotonic() > deadline:
            raise ClusterUnavailable(f"topic {left[0]} is not deleted after {_GONE_S:g} s")
        time.sleep(_POLL_S)
    return len(there)
