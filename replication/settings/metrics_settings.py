"""Where the drivers' figures are served or pushed to, and how finely."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from replication.settings.otlp_settings import OtlpSettings
from replication.settings.section import Section
from replication.settings.setting_key import Key, KeyLevel


class MetricsSettings(Section):
    """Where the drivers' figures are served for Prometheus or pushed to, and how finely."""

    port: Annotated[
        int | None,
        Key("metrics.port", "port",
            "serve [metrics](metrics.md) for Prometheus: the first application on this port, "
            "the others on the next ones; `0`: any free port", level=KeyLevel.FILE),
    ] = None  # see supervision.metrics_port; None: nowhere  # fmt: skip
    host: Annotated[
        str,
        Key("metrics.host", "string",
            "listen address; `0.0.0.0`: every IPv4 address of this machine", level=KeyLevel.FILE),
    ] = "127.0.0.1"  # fmt: skip
    detail: Annotated[
        Literal["flow", "topic", "partition"],
        Key("metrics.detail", "choice",
            "`flow`, `topic` or `partition`: labels of the record metrics", level=KeyLevel.FILE),
    ] = "topic"  # fmt: skip
    certificate: Annotated[
        str | None,
        Key("metrics.ssl.certificate.location", "string",
            "PEM file: serve metrics with TLS, with this certificate chain", level=KeyLevel.FILE),
    ] = None  # fmt: skip
    key: Annotated[
        str | None,
        Key("metrics.ssl.key.location", "string",
            "PEM file with the certificate's private key, if it is another file",
            level=KeyLevel.FILE),
    ] = None  # fmt: skip
    client_ca: Annotated[
        str | None,
        Key("metrics.ssl.ca.location", "string",
            "PEM file: only clients with a certificate of these CAs are served",
            level=KeyLevel.FILE),
    ] = None  # fmt: skip
    user: Annotated[
        str | None,
        Key("metrics.user", "string", "serve metrics after this login alone (basic "
            "authentication)", level=KeyLevel.FILE),
    ] = None  # fmt: skip
    password: Annotated[
        str | None,
        Key("metrics.password", "string", "password of `metrics.user`", level=KeyLevel.FILE),
    ] = Field(default=None, repr=False)  # fmt: skip
    otlp: OtlpSettings = OtlpSettings()
