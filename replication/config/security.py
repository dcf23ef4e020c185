"""Checks before any connection that a client's security settings fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.file.jaas import parse_jaas
from replication.config.file.properties import Value
from replication.config.file.providers import has_placeholder
from replication.config.file.sasl import missing_package, tokens_of_iam
from replication.config.file.tls_limits import tls_limits
from replication.config.keys.value_checks import FILES, ParsedFile, located
from replication.errors import ConfigError
from replication.settings.login_origins import CREDENTIALS, TRUST, KeyOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from replication.config.file.findings import Notes

_KERBEROS = "Krb5LoginModule"
_MODULES = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
    "IAMLoginModule": ("AWS_MSK_IAM",),
    _KERBEROS: ("GSSAPI",),
}


_TLS = ("ssl.enabled.protocols", "ssl.protocol", "ssl.cipher.suites")

# The first of them that is set is what an operator looks at.
_ORIGINS = {
    CREDENTIALS: ("sasl.jaas.config", "ssl.keystore.location", "ssl.keystore.key"),
    TRUST: ("ssl.truststore.location", "ssl.truststore.certificates", "security.protocol"),
}


def check_security(settings: Mapping[str, Value], parsed: ParsedFile, notes: Notes) -> None:
    """Note what would keep a client with these settings from connecting."""
    protocol = settings.get("security.protocol", Value("PLAINTEXT", parsed="PLAINTEXT"))
    if protocol.parsed in ("SASL_PLAINTEXT", "SASL_SSL"):
        _check_sasl(settings, protocol, parsed, notes)
    if protocol.parsed in ("SSL", "SASL_SSL"):
        _check_files(settings, parsed, notes)
        _check_tls(settings, parsed, notes)


def login_origins(settings: Mapping[str, Value], file: Path) -> dict[str, str]:
    """Return where ``file`` sets the credentials of a client, and whom it trusts."""
    found = {}
    for name, keys in _ORIGINS.items():
        for value in (settings[key] for key in keys if key in settings):
            if value.line:
                found[name] = str(KeyOrigin(value.key, file))
                break
    return found


def _check_sasl(
    settings: Mapping[str, Value], protocol: Value, parsed: ParsedFile, notes: Notes
) -> None:
    mechanism, jaas = settings.get("sasl.mechanism"), settings.get("sasl.jaas.config")
    if mechanism is None and (jaas is None or _KERBEROS not in jaas.text):
        notes.error(protocol.at, "needs sasl.mechanism; Kafka's default is GSSAPI (Kerberos)",
                    "sasl.mechanism = SCRAM-SHA-512")  # fmt: skip
        return
    mechanism = mechanism or replace(protocol, text="GSSAPI", parsed="GSSAPI")
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
    if expected is not None:
        _check_package(mechanism, settings, notes)


def _check_package(mechanism: Value, settings: Mapping[str, Value], notes: Notes) -> None:
    """Warn: the file may be for another machine."""
    name = mechanism.text.strip().upper()
    if tokens_of_iam(name, {key: each.text for key, each in settings.items()}):
        name = "AWS_MSK_IAM"
    if package := missing_package(name):
        notes.warn(mechanism.at, package, "install it where flows and commands run")


def _check_files(settings: Mapping[str, Value], parsed: ParsedFile, notes: Notes) -> None:
    for name in FILES:
        setting = settings.get(name)
        if setting is None or not setting.text.strip():
            continue
        file = located(parsed.resolve(setting.text), parsed.path.parent)
        if not file.is_file():
            notes.warn(setting.at, f"the file {file} does not exist; clients will fail to connect",
                       "provide a JKS, PKCS12 or PEM file")  # fmt: skip


def _check_tls(settings: Mapping[str, Value], parsed: ParsedFile, notes: Notes) -> None:
    given = {name: settings[name] for name in _TLS if name in settings}
    if any(each.parsed is None for each in given.values()):
        return  # it is invalid, which was reported
    for value in given.values():
        try:
            limits = tls_limits({name: parsed.resolve(e.text) for name, e in given.items()})
        except ConfigError as error:
            notes.error(value.at, str(error), "allow TLSv1.2 or TLSv1.3, with a suite of it")
            return
        if limits.beyond_librdkafka:
            notes.warn(
                value.at,
                "holds where records are copied; librdkafka, which lists topics and syncs "
                f"configs, offsets and ACLs, {limits.beyond_librdkafka}",
                "restrict the brokers' listener instead",
            )
            return
