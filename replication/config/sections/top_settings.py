"""Builds the sections that belong to no flow: Spark and alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.settings.sections import Alerts, SparkSettings

if TYPE_CHECKING:
    from replication.config.sections.reading import Reader

_CONF = "spark.conf."


def read_spark(read: Reader) -> SparkSettings:
    """Return where the Spark applications run."""
    passed = [key for key in read.props if key.startswith(_CONF)]
    return read.section(
        SparkSettings, conf={key.removeprefix(_CONF): read.text(key) for key in passed}
    )


def read_alerts(read: Reader) -> Alerts:
    """Return where alerts go besides the log."""
    return Alerts(webhook_url=read.text("alert.webhook.url") or None)
