"""Builds the sections that belong to no flow: Spark, verification, alerts, what Dagster loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from replication.settings.file_settings import (
    Alerts,
    DagsterSettings,
    SparkSettings,
    VerificationSettings,
)

if TYPE_CHECKING:
    from replication.config.file.findings import Notes
    from replication.config.keys.value_checks import ParsedFile
    from replication.config.sections.section_reader import Reader

_CONF = "spark.conf."


def read_spark(read: Reader) -> SparkSettings:
    """Return where the Spark applications run."""
    passed = [key for key in read.props if key.startswith(_CONF)]
    return read.section(
        SparkSettings, conf={key.removeprefix(_CONF): read.text(key) for key in passed}
    )


def read_dagster(read: Reader) -> DagsterSettings:
    """Return what Dagster loads besides."""
    return read.section(DagsterSettings)


def read_verification(read: Reader, parsed: ParsedFile, notes: Notes) -> VerificationSettings:
    """Return how copies are verified; a directory that is not absolute is an error."""
    settings = read.section(VerificationSettings)
    if settings.reports is not None and not Path(settings.reports).is_absolute():
        at = parsed.props["reports.directory"].at
        advice = "begin it with /, or remove it: reports then come to the state directory"
        notes.error(at, "is not an absolute path", advice)
    return settings


def read_alerts(read: Reader) -> Alerts:
    """Return where alerts go besides the log."""
    return read.section(Alerts, webhook_url=read.text("alert.webhook.url") or None)
