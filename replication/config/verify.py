"""Check what single keys say: types, addresses, security, placeholders, files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from replication.config import client_keys, values
from replication.config.keys import client_name, lookup
from replication.config.own_keys import FLOW, TOP, TOPIC_CONFIG
from replication.config.properties import Value
from replication.config.providers import (
    PREFIX,
    Provider,
    anchored,
    has_placeholder,
    providers_in,
    resolve,
)
from replication.config.scopes import Scoped, split_key
from replication.errors import ConfigError
from replication.java_regex import Untranslatable, compile_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.findings import Notes

FILES = ("ssl.truststore.location", "ssl.keystore.location")
_NUMBERS = re.compile(r".*\.(ms|bytes|seconds)")
_AMBIGUOUS = frozenset(
    {"consumer", "producer", "admin", "config", "topics", "groups", "sync", "emit", "refresh",
     "ssl", "sasl", "security", "replication", "spark", "copy", "lag", "alert", "metrics",
     "isthmus"}
)  # fmt: skip
_CHOICES = {
    "isolation.level": "read_committed|read_uncommitted",
    "auto.offset.reset": "earliest|latest",
    "client.dns.lookup": "use_all_dns_ips|resolve_canonical_bootstrap_servers_only",
    "security.protocol": "|".join(client_keys.SECURITY_PROTOCOLS),
}


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file's properties in MirrorMaker 2's names, and what resolves its placeholders."""

    path: Path
    props: Mapping[str, Value]
    aliases: tuple[str, ...]
    providers: Mapping[str, Provider]

    def resolve(self, text: str) -> str:
        """Return ``text`` with its placeholders resolved, unresolvable ones left as they are."""
        try:
            return resolve(text, self.providers)
        except ConfigError:
            return text  # reported by check_values


def placeholders(props: Mapping[str, Value], notes: Notes) -> Mapping[str, Provider]:
    """Return the providers that the file declares."""
    own = {key: value.text for key, value in props.items() if key.startswith(PREFIX)}
    try:
        return providers_in(own)
    except ConfigError as error:
        notes.error(props[PREFIX].at, str(error))
        return {}


def check_values(parsed: ParsedFile, notes: Notes) -> None:
    """Note every value that is wrong by itself."""
    for alias in parsed.aliases:
        _check_alias(alias, parsed, notes)
    for key, value in parsed.props.items():
        scoped = split_key(key, parsed.aliases)
        if has_placeholder(value.text, parsed.providers):
            try:
                resolve(value.text, parsed.providers)
            except ConfigError as error:
                notes.doubt(value.at, str(error), "make it readable, or correct the placeholder")
                continue
        _check_value(scoped, value, parsed, notes)


def _check_value(scoped: Scoped, value: Value, parsed: ParsedFile, notes: Notes) -> None:
    text = parsed.resolve(value.text)
    client = client_name(scoped)
    if scoped.name.startswith(TOPIC_CONFIG):
        _check_override(scoped.name, value, notes)
        return
    try:
        if client is not None:
            _check_client(client, text)
        elif (known := lookup(scoped)) is not None:
            values.check(known.kind, scoped.name, text)
            if known.kind == "patterns":
                _check_patterns(scoped.name, value, text, notes)
            _check_least(scoped.name, text)
    except ValueError as error:
        message, hint = str(error), _hint(client or scoped.name)
        if has_placeholder(value.text, parsed.providers):
            message = f"{value.text} stands for a value that cannot be used here"
        notes.error(value.at, message, hint)
    if client_keys.is_secret(client or scoped.name) and text != text.strip() and text.strip():
        notes.warn(value.at, "begins or ends in a blank, which belongs to the secret",
                   "no blank at the line's end")  # fmt: skip


def _check_patterns(name: str, value: Value, text: str, notes: Notes) -> None:
    items = (text.strip(),) if name == "topics.regex" else values.items(text)
    try:
        compile_rules(items)
    except Untranslatable as error:
        fix = "a pattern that Java and Python both know"
        if len(items) > 1:
            fix += "; commas separate patterns, even inside { } and ( )"
        notes.error(value.at, str(error), fix)
    if "" in items:
        notes.warn(value.at, "has an empty item", "no comma at the end, none doubled")


def _check_override(name: str, value: Value, notes: Notes) -> None:
    pattern, slash, config = name.removeprefix(TOPIC_CONFIG).rpartition("/")
    if not (slash and pattern and config):
        notes.error(value.at, "names no topic or no config",
                    f"{TOPIC_CONFIG}<topic regex>/<config>, such as "
                    f"{TOPIC_CONFIG}orders.*/retention.ms")  # fmt: skip
        return
    try:
        compile_rules((pattern,))
    except Untranslatable as error:
        notes.error(value.at, str(error), "a pattern that Java and Python both know")


def _check_client(name: str, text: str) -> None:
    if name == "bootstrap.servers":
        values.addresses(text)
    elif name == "sasl.mechanism":
        if text.strip().upper() == "GSSAPI":
            raise ValueError("GSSAPI (Kerberos) is not supported")
        values.choice(text, "|".join(client_keys.MECHANISMS))
    elif name in _CHOICES:
        values.choice(text, _CHOICES[name])
    elif name in client_keys.HONOURED and _NUMBERS.fullmatch(name):
        values.integer(text)


def _check_least(name: str, text: str) -> None:
    least = {
        "tasks.max": 1,
        "replication.factor": -1,
        "topic.creation.default.partitions": 1,
        "topic.creation.replication.factor": -1,
        "topic.creation.min.insync.replicas": 1,
        "isthmus.topics.replication.factor": 1,
    }.get(name)
    if least is not None:
        values.integer(text, least)
    if name == "copy.buffer.bytes" and values.size(text) < 1 << 20:
        raise ValueError("is too small: 1MiB is the least")
    if name in ("copy.epoch.seconds", "copy.anchor.interval.ms", "lag.sla.seconds") and (
        not values.duration(text, name)
    ):
        raise ValueError("must be longer than nothing")


def _hint(name: str) -> str:
    known = FLOW.get(name) or TOP.get(name)
    choices = _CHOICES.get(name) or (known.kind.partition(" ")[2] if known else "")
    if name == "sasl.mechanism":
        choices = "|".join(client_keys.MECHANISMS)
    if name == "bootstrap.servers":
        return "host1:9092, host2:9092"
    return f"one of {', '.join(choices.split('|'))}" if choices else "correct the value"


def _check_alias(alias: str, parsed: ParsedFile, notes: Notes) -> None:
    at = parsed.props.get("clusters", Value("", "clusters")).at
    if "->" in alias or re.search(r"\s", alias):
        notes.error(at, f"{values.shown(alias)} cannot be a cluster's name",
                    "a name without blanks and arrows")  # fmt: skip
    elif alias in _AMBIGUOUS:
        notes.error(at, f"a cluster called {alias} cannot be told from the settings {alias}.*",
                    "another name")  # fmt: skip


def absolute_files(
    settings: Mapping[str, Value], base: Path, providers: Mapping[str, Provider]
) -> dict[str, str]:
    """Return a client's settings as text, with absolute paths: Spark may run elsewhere."""
    return {
        key: str(located(value.text, base)) if key in FILES and value.text
        else anchored(value.text, providers, base)
        for key, value in settings.items()
    }  # fmt: skip


def located(text: str, base: Path) -> Path:
    """Return where a file is: beside the working directory, as for Java, else beside the config."""
    path = Path(text.strip())
    if path.is_absolute() or path.exists():
        return path.absolute()
    return base / path
