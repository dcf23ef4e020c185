"""The hybrid example's own Dagster definitions: enriched orders as Parquet, downstream of a flow.

The file of the example names this module in ``dagster.definitions``. Lineage goes from the regions'
clusters over the merged topics and the enriched topic to the files.
"""

from __future__ import annotations

import dagster as dg

from orchestration.demo.enriched_files import EnrichedFiles
from orchestration.flows.kafka_clients import read_config
from orchestration.services.state_directory import config_file, state_directory

_TOPIC = "orders"


@dg.asset(
    key=["files", "orders"],
    deps=[dg.AssetKey(["kafka", "analytics", "topics", _TOPIC])],
    group_name="hybrid",
    kinds={"spark", "parquet"},
    description="Enriched orders as Parquet: each record of the enriched topic once.",
)
def enriched_orders() -> dg.MaterializeResult[None]:
    """Export the orders that came since the last run, by a bounded Spark job."""
    config = read_config(config_file())
    flow = config.flow("central->analytics")
    files = EnrichedFiles(config, flow, {_TOPIC}, state_directory().root / "hybrid" / _TOPIC)
    ranges = files.export()
    records = sum(end - start for start, end in ranges.values())
    spans = {str(each): f"{start} to {end - 1}" for each, (start, end) in sorted(ranges.items())}
    return dg.MaterializeResult(
        metadata={"offsets": records, "folder": str(files.folder), "ranges": spans}
    )


export_orders = dg.define_asset_job("export_enriched_orders", [enriched_orders])
definitions = dg.Definitions(
    assets=[enriched_orders],
    jobs=[export_orders],
    schedules=[dg.ScheduleDefinition(job=export_orders, cron_schedule="* * * * *")],
)
