"""Where drivers push their figures over OTLP, the protocol of OpenTelemetry."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from replication.settings.setting_key import Key, KeyLevel


@dataclass(frozen=True, slots=True)
class OtlpSettings:
    """Default: nowhere. ``headers``: ``name=value``, with commas between them."""

    endpoint: Annotated[
        str | None,
        Key("metrics.otlp.endpoint", "string",
            "push the [metrics](metrics.md#opentelemetry) over OTLP/HTTP to this URL, such as "
            "`https://otel.example:4318/v1/metrics`; needs `pip install 'isthmus[otel]'`",
            level=KeyLevel.FILE),
    ] = None  # fmt: skip
    interval: Annotated[
        timedelta,
        Key("metrics.otlp.interval.seconds", "duration", "time between two pushes",
            least=timedelta(seconds=1), level=KeyLevel.FILE),
    ] = timedelta(seconds=60)  # fmt: skip
    headers: Annotated[
        str | None,
        Key("metrics.otlp.headers", "string",
            "HTTP headers of a push, secret: `authorization=Bearer ...,x-scope=a`",
            level=KeyLevel.FILE),
    ] = field(default=None, repr=False)  # fmt: skip
    ca: Annotated[
        str | None,
        Key("metrics.otlp.ssl.ca.location", "string",
            "PEM file: the CA certificates of the endpoint; without it, those that "
            "Python's `certifi` knows", level=KeyLevel.FILE),
    ] = None  # fmt: skip


def header_lines(text: str) -> dict[str, str]:
    """Return the headers that a value lists. Raises ValueError for one without a name."""
    found = {}
    for each in filter(None, map(str.strip, text.split(","))):
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ValueError("a header has no name")
        found[name.strip()] = value.strip()
    return found
