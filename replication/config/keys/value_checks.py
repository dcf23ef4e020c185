"""Parses each value of a file once and reports those that are invalid by themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from replication.config.file import values
from replication.config.file.properties import Value
from replication.config.file.providers import (
    PREFIX,
    Provider,
    anchored,
    has_placeholder,
    providers_in,
    resolve,
)
from replication.config.file.sasl import SASL_MECHANISMS
from replication.config.keys import client_keys
from replication.config.keys.connection_keys import is_secret
from replication.config.keys.key_status import client_name, is_setting, lookup
from replication.config.keys.mm2_keys import KnownKey
from replication.config.keys.own_keys import TOPIC_CONFIG
from replication.config.keys.scopes import split_key
from replication.errors import ConfigError
from replication.naming.java_regex import Untranslatable, compile_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.file.findings import Notes

FILES = ("ssl.truststore.location", "ssl.keystore.location")


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
            return text  # noted by parse_values


def placeholders(props: Mapping[str, Value], notes: Notes) -> Mapping[str, Provider]:
    """Return the providers that the file declares."""
    own = {key: value.text for key, value in props.items() if key.startswith(PREFIX)}
    try:
        return providers_in(own)
    except ConfigError as error:
        notes.error(props[PREFIX].at, str(error))
        return {}


def parse_values(file: ParsedFile, notes: Notes) -> ParsedFile:
    """Return the file with each value parsed, once; note every value that is wrong by itself."""
    return replace(
        file, props={key: _parsed(key, value, file, notes) for key, value in file.props.items()}
    )


def _parsed(key: str, value: Value, file: ParsedFile, notes: Notes) -> Value:
    """Return a value with what it means; without, where it is wrong or a client's business."""
    try:
        text = resolve(value.text, file.providers)
    except ConfigError as error:
        notes.doubt(value.at, str(error), "make it readable, or correct the placeholder")
        return value
    scoped = split_key(key, file.aliases)
    client = client_name(scoped)
    _check_blanks(client or scoped.name, value, text, notes)
    if scoped.name.startswith(TOPIC_CONFIG):
        return _override(scoped.name, value, text, notes)
    known = _known_client(client) if client is not None else lookup(scoped) or KnownKey()
    if known is None:
        return value  # resolved and read where a client is built
    try:
        found = values.parse(known.kind, client or scoped.name, text, known.least)
    except ValueError as error:
        message, fix = str(error), _hint(known)
        if has_placeholder(value.text, file.providers):
            message = f"{value.text} does not stand for a valid value"
        elif known.kind == "addresses":
            fix = ""  # the message shows the address as it is to be
        notes.error(value.at, message, fix)
        return value
    if known.kind in ("patterns", "pattern") and isinstance(found, tuple):
        _check_patterns(found, value, notes)
    return replace(value, parsed=found)


def _known_client(name: str) -> KnownKey | None:
    """Return how the value of a client's setting is parsed; None: it is not."""
    kind = client_keys.KINDS_OF_VALUES.get(name)
    return KnownKey(kind) if kind else None


def _check_blanks(name: str, value: Value, text: str, notes: Notes) -> None:
    if is_secret(name) and text != text.strip() and text.strip():
        notes.warn(value.at, "begins or ends with a blank, which is part of the secret",
                   "remove the blank, unless the secret has it")  # fmt: skip


def _check_patterns(items: tuple[str, ...], value: Value, notes: Notes) -> None:
    try:
        compile_rules(items)
    except Untranslatable as error:
        fix = "write a pattern that Java and Python both know"
        if len(items) > 1:
            fix += "; commas separate patterns, even inside { } and ( )"
        notes.error(value.at, str(error), fix)
    if "" in items:
        notes.warn(value.at, "has an empty item", "remove the comma at the end or the doubled one")


def _override(name: str, value: Value, text: str, notes: Notes) -> Value:
    """Return the value of ``topic.config.<topic regex>/<config>``, whose name is checked."""
    pattern, slash, config = name.removeprefix(TOPIC_CONFIG).rpartition("/")
    if not (slash and pattern and config):
        notes.error(value.at, "has no topic or no config in its name",
                    f"write {TOPIC_CONFIG}<topic regex>/<config>, such as "
                    f"{TOPIC_CONFIG}orders.*/retention.ms")  # fmt: skip
        return value
    try:
        compile_rules((pattern,))
    except Untranslatable as error:
        notes.error(value.at, str(error), "write a pattern that Java and Python both know")
    return replace(value, parsed=text.strip())


def _hint(known: KnownKey) -> str:
    name, _, choices = known.kind.partition(" ")
    if name == "sasl-mechanism":
        choices = "|".join(SASL_MECHANISMS)
    if name == "addresses":
        return "write host:port, such as broker-1:9092"
    if name == "cron":
        return "write five fields, such as 0 3 * * sun"
    if name in values.SPANS:
        return "write a number and a unit, such as 30s"
    if known.least is not None:
        return f"write {values.written(name, '', known.least)} or more"
    return f"write one of {', '.join(choices.split('|'))}" if choices else "correct the value"


def are_aliases(file: ParsedFile, notes: Notes) -> bool:
    """Whether each name of a cluster can be one; note those with which keys mean two things."""
    wrong = [each for each in file.aliases if not _is_alias(each, file, notes)]
    return not wrong


def _is_alias(alias: str, parsed: ParsedFile, notes: Notes) -> bool:
    at = parsed.props.get("clusters", Value("", "clusters")).at
    if "->" in alias or re.search(r"\s", alias):
        notes.error(at, f"{values.displayed(alias)} cannot be the name of a cluster",
                    "choose a name without blanks and arrows")  # fmt: skip
        return False
    own = (key for key in parsed.props if key.startswith(f"{alias}."))
    if (setting := next(filter(is_setting, own), None)) is not None:
        notes.error(at, f"the cluster name {alias} cannot be distinguished from the setting "
                    f"{setting}", "choose another name")  # fmt: skip
    return setting is None


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
