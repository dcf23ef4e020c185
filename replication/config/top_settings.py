"""Build the sections of a file that belong to no flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config import values
from replication.config.model import Alerts, MetricsSettings, SparkSettings

if TYPE_CHECKING:
    from replication.config.reading import Reader

_CONF = "spark.conf."


def read_spark(read: Reader) -> SparkSettings:
    """Return where the Spark applications run."""
    return SparkSettings(
        master=read.text("spark.master", "local[*]"),
        application=read.choice("spark.application", "per-target", "per-target|per-flow"),
        conf={
            key.removeprefix(_CONF): read.text(key, "")
            for key in read.props
            if key.startswith(_CONF)
        },
    )


def read_alerts(read: Reader) -> Alerts:
    """Return where alerts go besides the log."""
    return Alerts(webhook_url=read.text("alert.webhook.url", "") or None)


def read_metrics(read: Reader) -> MetricsSettings:
    """Return where the drivers' figures are served."""
    default, key = MetricsSettings(), "metrics.port"
    return MetricsSettings(
        port=read.parsed(key, default.port, values.port) if key in read.props else None,
        host=read.text("metrics.host", default.host),
        detail=read.choice("metrics.detail", default.detail, "flow|topic|partition"),
    )
