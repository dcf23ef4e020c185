"""Builds configs and flows for tests, with defaults."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from replication.settings.config import Cluster, Config
from replication.settings.file_settings import Alerts, SparkSettings
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.naming_settings import Selection


def a_flow(
    source: str = "A", target: str = "B", topics: tuple[str, ...] = (".*",), sla_s: float = 60
) -> Flow:
    properties = {"bootstrap.servers": f"{source}:9092"}, {"bootstrap.servers": f"{target}:9092"}
    clients = FlowClients(
        source_consumer=properties[0],
        source_admin=properties[0],
        target_producer=properties[1],
        target_admin=properties[1],
    )
    return Flow(
        source=source,
        target=target,
        clients=clients,
        selection=Selection(topics=topics),
        lag_sla=timedelta(seconds=sla_s),
    )


def a_config(
    *flows: Flow,
    application: str = "per-target",
    webhook_url: str | None = None,
    alert_urls: tuple[str, ...] = (),
) -> Config:
    found = flows or (a_flow(),)
    aliases = sorted({end for each in found for end in (each.source, each.target)})
    return Config(
        path=Path("test.properties"),
        clusters={
            alias: Cluster(alias=alias, bootstrap_servers=(f"{alias}:9092",)) for alias in aliases
        },
        flows=found,
        spark=SparkSettings(application=application),
        alerts=Alerts(webhook_url=webhook_url, urls=alert_urls),
    )
