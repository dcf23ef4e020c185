"""Builds the part of a unit's spec that all units of a flow share. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.copier.spec import UnitSpec
from replication.model import BY_ID

if TYPE_CHECKING:
    from replication.provenance.routes import Routes
    from replication.settings.copy_settings import CopySettings
    from replication.settings.flow_settings import Flow


def template(flow: Flow, generation: int, routes: Routes) -> UnitSpec:
    """Return the spec of a unit without its number, epoch and partitions."""
    flows_by_id = [each for each in routes.flows.values() if each.cycle_prevention == BY_ID]
    return UnitSpec(
        flow=flow.name,
        source_alias=flow.source,
        target_alias=flow.target,
        unit=0,
        generation=generation,
        epoch=0,
        partitions=(),
        source=dict(flow.clients.source_consumer),
        target=dict(flow.clients.target_producer),
        copying=_of_a_unit(flow.copying),
        policies=flow.policies,
        target_is_replicated=any(each.source == flow.target for each in flows_by_id),
        source_has_copies=any(each.target == flow.source for each in flows_by_id),
        stamps=flow.provenance_headers,
    )


def _of_a_unit(flow: CopySettings) -> CopySettings:
    """Return one unit's share of a flow's settings; offsets are in the partitions' plans."""
    share = flow.bytes_per_second // flow.units
    return replace(flow, bytes_per_second=share, start_offsets={}, until_offsets={})
