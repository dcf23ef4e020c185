"""Builds the section of the metrics, and checks before a start that its keys fit together.

A key that cannot be honoured is an error: the endpoint would serve more readers than it says, or
figures would be pushed nowhere.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from replication.config.keys.value_checks import located
from replication.settings.metrics_settings import MetricsSettings
from replication.settings.otlp_settings import OtlpSettings, header_lines

if TYPE_CHECKING:
    from replication.config.file.findings import Notes
    from replication.config.file.properties import Value
    from replication.config.keys.value_checks import ParsedFile
    from replication.config.sections.section_reader import Reader

_ENDPOINT = "metrics.otlp.endpoint"
_HEADERS = "metrics.otlp.headers"
_OTLP_CA = "metrics.otlp.ssl.ca.location"
_CERTIFICATE = "metrics.ssl.certificate.location"
_NEEDS = (
    ("metrics.user", "metrics.password"),
    ("metrics.password", "metrics.user"),
    ("metrics.ssl.key.location", _CERTIFICATE),
    ("metrics.ssl.ca.location", _CERTIFICATE),
    (_HEADERS, _ENDPOINT),
    (_OTLP_CA, _ENDPOINT),
)
_FILES = {"certificate": _CERTIFICATE, "key": _NEEDS[2][0], "client_ca": _NEEDS[3][0]}


def read_metrics(read: Reader, parsed: ParsedFile, notes: Notes) -> MetricsSettings:
    """Return where metrics are served and to whom; note keys that do not fit together."""
    settings = read.section(MetricsSettings, otlp=read.section(OtlpSettings))
    base = parsed.path.parent.absolute()
    files: dict[str, object] = {
        name: str(located(text, base))
        for name in _FILES
        if (text := getattr(settings, name)) is not None
    }
    otlp = settings.otlp
    if otlp.ca is not None:
        files["otlp"] = replace(otlp, ca=str(located(otlp.ca, base)))
    settings = settings.model_copy(update=files)
    set_ = {key: value for key, value in parsed.props.items() if key.startswith("metrics.")}
    _check_pairs(set_, settings, notes)
    _check_files(set_, settings, notes)
    _check_push(set_, settings.otlp, notes)
    if not notes.has_errors:
        _mention_readers(set_, settings, notes)
    return settings


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a listener on ``host``; names are not looked up."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_pairs(set_: dict[str, Value], settings: MetricsSettings, notes: Notes) -> None:
    for key, other in _NEEDS:
        if key in set_ and other not in set_:
            notes.error(set_[key].at, f"needs {other}", f"set {other}, or remove {key}")
    if ":" in (settings.user or ""):
        notes.error(set_["metrics.user"].at, "has a colon, which ends a user's name in HTTP",
                    "choose a name without it")  # fmt: skip
    for key, value in (("metrics.user", settings.user), ("metrics.password", settings.password)):
        if value == "" and key in set_:
            notes.error(set_[key].at, "is empty", "set it, or remove metrics.user and "
                        "metrics.password")  # fmt: skip


def _check_files(set_: dict[str, Value], settings: MetricsSettings, notes: Notes) -> None:
    for name, key in _FILES.items():
        file = getattr(settings, name)
        if file is not None and not Path(file).is_file():
            notes.warn(set_[key].at, f"the file {file} does not exist; no metrics will be served",
                       "provide a PEM file")  # fmt: skip


def _check_push(set_: dict[str, Value], otlp: OtlpSettings, notes: Notes) -> None:
    if otlp.endpoint is None:
        return
    at, parts = set_[_ENDPOINT].at, urlsplit(otlp.endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        notes.error(at, "is not an HTTP URL", "http://host:4318/v1/metrics, or with https")
    elif parts.username is not None:
        notes.error(at, "has a login, which everybody sees", f"remove it and set {_HEADERS}")
    elif otlp.headers and parts.scheme == "http" and not is_loopback(parts.hostname):
        notes.warn(at, f"sends {_HEADERS} over the network in clear text", "choose https://")
    try:
        header_lines(otlp.headers or "")
    except ValueError:
        notes.error(set_[_HEADERS].at, "has a header without a name",
                    "name=value, with commas between them")  # fmt: skip
    if otlp.ca is not None and not Path(otlp.ca).is_file():
        notes.warn(set_[_OTLP_CA].at, f"the file {otlp.ca} does not exist; nothing will be pushed",
                   "provide a PEM file")  # fmt: skip


def _mention_readers(set_: dict[str, Value], settings: MetricsSettings, notes: Notes) -> None:
    """Note what other machines may read; ``metrics.host`` is what lets them."""
    if settings.port is None or is_loopback(settings.host):
        return
    at = set_["metrics.host"].at
    if settings.user is not None and settings.certificate is None:
        notes.warn(at, "sends metrics.password over the network in clear text",
                   f"serve with TLS: {_CERTIFICATE}")  # fmt: skip
    elif settings.user is None and settings.client_ca is None:
        notes.info(at, "shows names of topics and clusters to every machine that reaches the port",
                   "metrics.user and metrics.password, or metrics.ssl.ca.location")  # fmt: skip
