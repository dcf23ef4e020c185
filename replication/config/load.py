"""Loads a properties file as a checked configuration and reports all of its problems at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.config.build import build_config
from replication.config.file import values
from replication.config.file.findings import ConfigFinding, Notes, Severity, errors
from replication.config.file.input_file import read_input
from replication.config.file.properties import (
    MalformedText,
    PropertyEntry,
    Value,
    decode,
    parse_properties,
)
from replication.config.keys.key_status import judge
from replication.config.keys.scopes import Scoped, split_key
from replication.config.keys.value_checks import ParsedFile, are_aliases, parse_values, placeholders
from replication.config.normalise import from_entries, normalise, plain_text
from replication.config.sections.flows import declared_targets, plan_flows, refuse_self_flows
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from replication.config.sections.section_reader import SettingInForce
    from replication.settings.config import Config


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checked file, the findings about it, and the origin of each setting."""

    config: Config
    findings: tuple[ConfigFinding, ...]
    origins: Mapping[str, tuple[SettingInForce, ...]]  # by flow, and by "" for what is no flow's
    entries: tuple[PropertyEntry, ...] = field(default=(), repr=False)  # they may hold passwords


def load_config(path: Path, *, lenient: bool = False) -> Loaded:
    """Read and check a file. Raises ConfigError listing every error with file:line and a fix.

    ``lenient`` turns into warnings what MirrorMaker 2 passes over in silence: unknown keys.
    """
    loaded, findings = examine(path, lenient=lenient)
    if found := errors(findings):
        raise ConfigError(problem_list(found))
    if loaded is None:  # no plan without an error
        raise ConfigError(f"{path}: nothing to copy")
    return loaded


def examine(
    path: Path, *, lenient: bool = False, content: bytes | tuple[PropertyEntry, ...] | None = None
) -> tuple[Loaded | None, tuple[ConfigFinding, ...]]:
    """Return the findings and settings of a file, valid or not. Raises ConfigError.

    There may be a configuration beside errors; it is for showing, not for running. ``content``: its
    bytes or lines, if they were read already or are to be written.
    """
    notes = Notes(path, lenient=lenient)
    entries = content if isinstance(content, tuple) else _entries(path, content, notes)
    loaded = _load(path, entries, notes)
    return loaded, notes.sorted()


def problem_list(found: tuple[ConfigFinding, ...]) -> str:
    """Return errors as one message, a line each."""
    count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    return "\n  ".join([f"{found[0].file} has {count}:", *map(str, found)])


def _load(path: Path, entries: tuple[PropertyEntry, ...], notes: Notes) -> Loaded | None:
    raw = from_entries(entries, notes)
    listed = _listed(raw, notes)
    unlisted = declared_targets(raw, listed)
    aliases = (*listed, *unlisted)
    props = normalise(raw, aliases, notes)
    ignored = refuse_self_flows(props, aliases, notes)
    props = {key: value for key, value in props.items() if key not in ignored}
    parsed = ParsedFile(path, props, aliases, placeholders(props, notes))
    for key, value in parsed.props.items():
        judge(value, split_key(key, aliases), parsed.props, notes)
    parsed = parse_values(parsed, notes)
    if not (listed and are_aliases(parsed, notes)):
        return None
    plan = plan_flows(parsed.props, listed, unlisted, notes)
    if plan is None or not plan.pairs:
        return None
    config, origins = build_config(parsed, plan, notes)
    if config is None:
        return None
    findings = notes.sorted()
    warnings = tuple(str(each) for each in findings if each.severity is Severity.WARNING)
    return Loaded(config.model_copy(update={"warnings": warnings}), findings, origins, entries)


def _entries(path: Path, content: bytes | None, notes: Notes) -> tuple[PropertyEntry, ...]:
    try:
        return parse_properties(decode(read_input(path) if content is None else content))
    except MalformedText as error:
        notes.error(("", error.line), str(error), error.fix)
        return ()
    except OSError as error:
        raise ConfigError(f"reading {path}: {error.strerror}") from None


def _listed(raw: Mapping[str, Value], notes: Notes) -> tuple[str, ...]:
    setting = raw.get("clusters")
    if setting is None:
        notes.error(("clusters", 0), "is not set", "clusters = A, B")
        return ()
    text = plain_text(Scoped("top", "", "clusters"), setting, Notes(notes.file)).text
    return tuple(dict.fromkeys(each for each in values.items(text) if each))
