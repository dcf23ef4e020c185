"""The group syncs of a file's flows: created on first use, each aware of the others."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from replication.adapters.clients import stored_clusters
from replication.adapters.offset_reader import OffsetReader
from replication.naming.selection import TopicSelector
from replication.offsets.groups.group_sync import GroupSync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from replication.client.cluster_ids import FlowClusters
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


class GroupSyncs:
    """Connects the syncs of a file's flows with their readers, and with one another.

    Flows of one target that keep or change names may feed the same topics: each has to know what
    the others say of a group, so they share their readers. ``warn`` gets the name of a flow and a
    sentence, once for each offset that its sync does not move; see GroupSync. ``known``: as for
    KafkaClients; of other flows, what their drivers have stored.
    """

    def __init__(
        self,
        config: Config,
        warn: Callable[[str, str], None] = lambda _flow, _text: None,
        known: Mapping[str, FlowClusters] | None = None,
    ) -> None:
        self.config = config
        self.clusters = known or {}
        self._warn = warn
        self._made: dict[str, tuple[OffsetReader, GroupSync]] = {}
        self._lock = threading.RLock()

    def of(self, flow: Flow) -> GroupSync:
        """Return the group sync of a flow.

        Raises ReplicationError where the clusters of a sibling are not known: none is kept then,
        since one without its siblings would set groups beyond the records of their sources.
        """
        with self._lock:
            if flow.name not in self._made:
                together = [flow, *self._beside(flow)]
                self._made |= self._opened([e for e in together if e.name not in self._made])
            return self._made[flow.name][1]

    def reader(self, flow: Flow) -> OffsetReader:
        """Return what reads the flow's offsets."""
        self.of(flow)
        return self._made[flow.name][0]

    def close(self) -> None:
        """Close all connections."""
        while self._made:
            _, (reader, _) = self._made.popitem()
            reader.close()

    def _opened(self, flows: Sequence[Flow]) -> dict[str, tuple[OffsetReader, GroupSync]]:
        """Return reader and sync of each of ``flows``; all of them, or none stays open."""
        with ExitStack() as opened:
            made = {}
            for each in flows:
                known = self.clusters.get(each.name) or stored_clusters(each)
                reader = OffsetReader(each, known)
                opened.callback(reader.close)
                made[each.name] = reader, self._sync(each, reader)
            opened.pop_all()
            return made

    def _sync(self, flow: Flow, reader: OffsetReader) -> GroupSync:
        return GroupSync(
            flow,
            TopicSelector.for_flow(flow, self.config.clusters),
            reader,
            reader.groups(target=False),
            reader.groups(target=True),
            siblings=partial(self._siblings, flow),
            opposite=partial(self._opposite, flow),
            warn=partial(self._warn, flow.name),
            remember=reader.remember,
        )

    def _siblings(self, flow: Flow) -> tuple[GroupSync, ...]:
        return tuple(self._made[each.name][1] for each in self._beside(flow))

    def _beside(self, flow: Flow) -> Iterator[Flow]:
        for each in self.config.flows_into(flow.target):
            if each.name != flow.name and "prefix" not in {each.naming.kind, flow.naming.kind}:
                yield each

    def _opposite(self, flow: Flow) -> OffsetReader | None:
        """Return what reads the offsets of the flow back between the same topics."""
        back = self.config.flow_back(flow)
        if back is None or "prefix" in {back.naming.kind, flow.naming.kind}:
            return None
        return self.reader(back)


@contextmanager
def opened_sync(flow: Flow, config: Config) -> Iterator[tuple[GroupSync, OffsetReader]]:
    """Give a flow's group sync and its reader; their connections are closed afterwards."""
    syncs = GroupSyncs(config)
    try:
        yield syncs.of(flow), syncs.reader(flow)
    finally:
        syncs.close()
