"""Reads what Dagster's history has of a flow: the observations of its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestration.report.flow_history import FlowSample
from orchestration.report.over_time import Stored, is_well
from orchestration.services.asset_names import stream_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dagster import DagsterInstance

    from orchestration.services.state_directory import StateDirectory

_PAGE = 500  # observations that are read at a time
_MOST = 20_000  # a month of samples every five minutes, and as many changes


def stored_samples(instance: DagsterInstance, flow: str, since_ms: int) -> tuple[Stored, ...]:
    """Return the observations of a flow's stream since then, the oldest first."""
    import dagster as dg  # noqa: PLC0415 -- it takes a second, which no other command needs

    chosen = dg.AssetRecordsFilter(dg.AssetKey(stream_path(flow)), after_timestamp=since_ms / 1000)
    found: list[Stored] = []
    cursor: str | None = None
    while len(found) < _MOST:
        page = instance.fetch_observations(chosen, _PAGE, cursor, ascending=True)
        found += [
            _stored(int(each.timestamp * 1000), observed.metadata)
            for each in page.records
            if (observed := each.asset_observation) is not None
        ]
        if not page.has_more:
            break
        cursor = page.cursor
    return tuple(found)


def open_history(state_directory: StateDirectory) -> DagsterInstance | None:
    """Return the instance of the state directory's history; None: Dagster never ran there."""
    if not (state_directory.dagster / "dagster.yaml").exists():
        return None
    import dagster as dg  # noqa: PLC0415 -- as above

    return dg.DagsterInstance.from_config(str(state_directory.dagster))


def _stored(at_ms: int, metadata: Mapping[str, Any]) -> Stored:
    values = {name: getattr(each, "value", None) for name, each in metadata.items()}
    state, latency_s = (
        str(values.get("state", "not known")),
        values.get("highest latency in seconds"),
    )
    sample = FlowSample(
        at_ms,
        state,
        bool(values.get("healthy", is_well(state))),  # an older release did not store it
        values.get("lag in seconds"),
        values.get("records per second"),
        values.get("MB per second"),
        None if latency_s is None else int(latency_s * 1000),
    )
    rows = getattr(metadata.get("topics"), "records", ())
    return Stored(sample, {str(e.data["topic"]): e.data["seconds"] for e in rows})
