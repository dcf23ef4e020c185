"""What all units of a flow have in common. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.copier.spec import UnitSpec
from replication.provenance import BY_ID

if TYPE_CHECKING:
    from replication.config.model import Flow
    from replication.routes import Routes


def template(flow: Flow, generation: int, routes: Routes) -> UnitSpec:
    """Return what all units of a flow have in common."""
    by_id = [each for each in routes.flows.values() if each.cycle_prevention == BY_ID]
    copying = flow.copying
    return UnitSpec(
        flow=flow.name,
        source_alias=flow.source,
        target_alias=flow.target,
        unit=0,
        generation=generation,
        epoch=0,
        epoch_s=copying.epoch / timedelta(seconds=1),
        partitions=(),
        source=dict(flow.clients.source_consumer),
        target=dict(flow.clients.target_producer),
        isolation=copying.isolation,
        buffer_bytes=copying.buffer_bytes,
        anchor_every_s=copying.anchor_every / timedelta(seconds=1),
        start=copying.start,
        client_rack=copying.client_rack,
        bytes_per_second=copying.bytes_per_second // copying.units,
        policies=flow.policies,
        delivery=copying.delivery,
        origins_matter=any(each.source == flow.target for each in by_id),
        copies_come=any(each.target == flow.source for each in by_id),
        stamps=flow.provenance_headers,
    )
