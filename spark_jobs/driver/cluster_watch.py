"""Watches that a flow's addresses lead to the clusters that the flow has copied between.

What is known of their ids, in this order:

1. what an operator has accepted with ``isthmus resolve accept``: a record in the status topic
2. of the target, a file in the driver's state directory: the target's own record is not on a
   cluster that its address leads to by mistake
3. the record that the flow's first start wrote to the status topic; of a flow that an older release
   began, the registry of producers
4. what the flows that read the target have stored about it on other clusters

Without any of them the clusters that answer first are right.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from replication.adapters.local.cluster_file import read_ids, write_ids
from replication.client.cluster_ids import known_ids, require_clusters, stored_ids
from replication.clock import now_ms
from replication.errors import ReplicationError, WrongCluster
from replication.state import PRODUCERS_TOPIC, ClusterIds, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Protocol

    from replication.client.admin import ClusterAdmin, Records
    from replication.client.cluster_ids import FlowClusters, Verify
    from replication.settings.flow_settings import Flow
    from replication.state import Stored

    Readers = Sequence[tuple[Flow, Callable[[Flow], Records]]]  # flows, and what opens their stores

    class Store(Protocol):
        """What is needed of ``adapters.topics.state_store``."""

        def cluster_id(self) -> str: ...

        def read(self, topic: str) -> Mapping[bytes, Stored]: ...

        def write(self, topic: str, *records: Stored) -> None: ...


class ClusterWatch:
    """The clusters of one flow. ``known`` is set here, and consulted by all of its clients."""

    def __init__(
        self, flow: Flow, known: FlowClusters, store: Store, file: Path, readers: Readers
    ) -> None:
        """``store``: on the target's address, whatever cluster it leads to."""
        self.known = known
        self.target_problem = ""  # nothing is posted to the target while it is another cluster
        self.accepted = ""  # the cluster that an operator has accepted since the driver began
        self._flow = flow
        self._readers = readers
        self._store = store
        self._file = file
        self._is_filed = False

    def require_target(self) -> None:
        """Find out what is known, before anything is written to the target.

        Raises WrongCluster, ClusterUnavailable.
        """
        cluster_id = self._store.cluster_id()
        stored = self._stored() or ClusterIds(self._flow.name)
        local = read_ids(self._file, self._flow)
        by_other_flows = "" if stored.target or local.target else self._id_by_other_flows()
        self.known.learn(known_ids(stored, local, by_other_flows))
        self.known.verify_target(cluster_id)

    def check(self, source: ClusterAdmin, target: ClusterAdmin) -> None:
        """Compare the ids of both clusters with what is known; store them at the first start.

        Raises WrongCluster, ClusterUnavailable, ConfigError if both are one.
        """
        there = target.cluster_id()
        self.target_problem = self._problem(self.known.verify_target, there, lambda ids: ids.target)
        if self.target_problem:
            raise WrongCluster(self.target_problem)
        here = source.cluster_id()
        if problem := self._problem(self.known.verify_source, here, lambda ids: ids.source):
            raise WrongCluster(problem)
        if (self.known.source_id, self.known.target_id) != (here, there) or not self._is_filed:
            require_clusters(self.known, here, there)
            self._keep(ClusterIds(self._flow.name, here, there, at_ms=now_ms()))

    def _problem(self, verify: Verify, cluster_id: str, side: Callable[[ClusterIds], str]) -> str:
        """Return what is wrong with a cluster; note if an operator has accepted it meanwhile."""
        try:
            verify(cluster_id)
        except WrongCluster as problem:
            with suppress(ReplicationError):
                found = self._stored()
                if found is not None and found.by and side(found) == cluster_id:
                    self.accepted = cluster_id
            return str(problem)
        return ""

    def _keep(self, ids: ClusterIds) -> None:
        stored = self._stored()
        if stored is None or (stored.source, stored.target) != (ids.source, ids.target):
            self._store.write(status_topic(self._flow.source), ids)
        self.known.learn(ids)
        with suppress(OSError):  # a full disk stops nothing: the next plan tries again
            write_ids(self._file, self._flow, ids)
            self._is_filed = True

    def _stored(self) -> ClusterIds | None:
        topics = (status_topic(self._flow.source), PRODUCERS_TOPIC)
        records = [each for topic in topics for each in self._store.read(topic).values()]
        return stored_ids(self._flow.name, records)

    def _id_by_other_flows(self) -> str:
        """Return the id by which another flow knows our target as its source; empty: none does."""
        for each, store_of in self._readers:
            with suppress(ReplicationError):
                records = store_of(each).read(status_topic(each.source)).values()
                if found := stored_ids(each.name, records):
                    return found.source
        return ""
