"""What is kept of flows on their target: read once for a plan, and only if somebody asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from replication.state import Applied, OwnRights, status_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from replication.config.model import Flow
    from replication.ports import Clients


@dataclass(frozen=True)
class Kept:
    """Records in the status topics of flows into one target. Raises ClusterUnavailable."""

    flows: Sequence[Flow]
    clients: Clients

    def applied(self) -> Mapping[str, Applied]:
        """Return what was last applied, by topic of the target."""
        return {each.topic: each for each in self._records if isinstance(each, Applied)}

    def rights(self, flows: Collection[str]) -> tuple[OwnRights, ...]:
        """Return the rights that we made for the flows with these names."""
        found = (each for each in self._records if isinstance(each, OwnRights))
        return tuple(each for each in found if each.flow in flows)

    @cached_property
    def _records(self) -> Sequence[Applied | OwnRights]:
        names = {each.name for each in self.flows}
        stores = {each.source: self.clients.store(each) for each in self.flows}
        return [
            record
            for source, store in stores.items()
            for record in store.read(status_topic(source)).values()
            if isinstance(record, Applied | OwnRights) and record.flow in names
        ]
