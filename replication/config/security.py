"""Checks before any connection that a client's security settings fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.file.jaas import parse_jaas
from replication.config.file.properties import Value
from replication.config.file.providers import has_placeholder
from replication.config.keys.verify import FILES, ParsedFile, located
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.file.findings import Notes

_MODULES = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
}


def check_security(settings: Mapping[str, Value], parsed: ParsedFile, notes: Notes) -> None:
    """Note what would keep a client with these settings from connecting."""
    protocol = settings.get("security.protocol", Value("PLAINTEXT", parsed="PLAINTEXT"))
    if protocol.parsed in ("SASL_PLAINTEXT", "SASL_SSL"):
        _check_sasl(settings, protocol, parsed, notes)
    if protocol.parsed in ("SSL", "SASL_SSL"):
        _check_files(settings, parsed, notes)


def _check_sasl(
    settings: Mapping[str, Value], protocol: Value, parsed: ParsedFile, notes: Notes
) -> None:
    mechanism, jaas = settings.get("sasl.mechanism"), settings.get("sasl.jaas.config")
    if mechanism is None:
        notes.error(protocol.at, "needs sasl.mechanism; Kafka's default is GSSAPI (Kerberos), "
                    "which is not supported", "sasl.mechanism = SCRAM-SHA-512")  # fmt: skip
        return
    if jaas is None:
        notes.error(protocol.at, "needs sasl.jaas.config",
                    'sasl.jaas.config = <module> required username="…" password="…";')  # fmt: skip
        return
    if has_placeholder(jaas.text, parsed.providers) and parsed.resolve(jaas.text) == jaas.text:
        return  # the placeholder was reported
    try:
        module = parse_jaas(parsed.resolve(jaas.text)).module
    except ConfigError as error:
        notes.error(jaas.at, str(error).removeprefix("sasl.jaas.config "), "correct the line")
        return
    expected = mechanism.parsed  # None: it is invalid, which was reported
    if expected is not None and expected not in _MODULES.get(module, (expected,)):
        notes.error(jaas.at, f"{module} does not support {expected}",
                    f"sasl.mechanism = {_MODULES[module][-1]}")  # fmt: skip


def _check_files(settings: Mapping[str, Value], parsed: ParsedFile, notes: Notes) -> None:
    for name in FILES:
        setting = settings.get(name)
        if setting is None or not setting.text.strip():
            continue
        file = located(parsed.resolve(setting.text), parsed.path.parent)
        if not file.is_file():
            notes.warn(setting.at, f"the file {file} does not exist; clients will fail to connect",
                       "provide a JKS, PKCS12 or PEM file")  # fmt: skip
