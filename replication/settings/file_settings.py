"""Settings of a file that belong to no flow: Spark, verification, alerts, Dagster."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from replication.settings.section import Section
from replication.settings.setting_key import Key, KeyLevel


class SparkSettings(Section):
    """Where the Spark applications run."""

    master: Annotated[
        str,
        Key("spark.master", "string", "where the Spark applications run", level=KeyLevel.FILE),
    ] = "local[*]"
    application: Annotated[
        Literal["per-target", "per-flow"],
        Key("spark.application", "choice",
            "one application per target cluster, or `per-flow`", level=KeyLevel.FILE),
    ] = "per-target"  # fmt: skip
    conf: Annotated[
        Mapping[str, str],
        Key("spark.conf.*", "string", "passed to Spark without the prefix", level=KeyLevel.FILE),
    ] = Field(default={}, repr=False)  # may hold passwords


class BoundedJobs(Section):
    """What a Spark job that ends by itself may use, beside the streams: ``isthmus verify``."""

    cores: Annotated[
        int,
        Key("jobs.cores", "int", "Spark task slots of a bounded job, such as `isthmus verify`",
            least=1, level=KeyLevel.FILE),
    ] = 1  # fmt: skip
    memory_bytes: Annotated[
        int,
        Key("jobs.memory", "bytes",
            "heap of such a job's JVM: of its driver where `spark.master` is `local`, else of "
            "each executor", least=512 << 20, level=KeyLevel.FILE),
    ] = 512 << 20  # Spark refuses less than 450 MiB  # fmt: skip


class VerificationSettings(Section):
    """How copies are verified, and how long reports are kept."""

    range_bytes: Annotated[
        int,
        Key("verification.range.bytes", "bytes", "size of the ranges that are compared, each by "
            "one Spark task", least=1 << 20, level=KeyLevel.FILE),
    ] = 64 << 20  # fmt: skip
    reports: Annotated[
        str | None,
        Key("reports.directory", "string", "directory of reports, an absolute path",
            level=KeyLevel.FILE, default="`reports` in the state directory"),
    ] = None  # fmt: skip
    reports_kept: Annotated[
        timedelta,
        Key("reports.retention.seconds", "duration", "age at which reports are deleted",
            level=KeyLevel.FILE),
    ] = timedelta(days=30)  # fmt: skip


class Alerts(Section):
    """Where alerts go besides the log."""

    urls: Annotated[
        tuple[str, ...],
        Key("alert.urls", "urls",
            "URLs of [Apprise](alerts.md#channels), separated by commas: Slack, PagerDuty, "
            "e-mail, Teams and others", level=KeyLevel.FILE),
    ] = Field(default=(), repr=False)  # they hold tokens and passwords  # fmt: skip
    runbooks: Annotated[
        str,
        Key("alert.runbooks.url", "string",
            "address of the page of runbooks, for the links in alerts", level=KeyLevel.FILE),
    ] = "docs/runbooks.md"  # fmt: skip

    webhook_url: Annotated[
        str | None,
        Key("alert.webhook.url", "string",
            "URL to which alerts are posted, besides the log", level=KeyLevel.FILE),
    ] = Field(default=None, repr=False)  # such addresses hold a token  # fmt: skip


class DagsterSettings(Section):
    """What Dagster loads beside the definitions of the flows."""

    definitions: Annotated[
        tuple[str, ...],
        Key("dagster.definitions", "list",
            "Python modules whose Dagster definitions are loaded with those of the flows: their "
            "assets may depend on those of flows and topics ([an example](hybrid.md))",
            level=KeyLevel.FILE),
    ] = ()  # fmt: skip
