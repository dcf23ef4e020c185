"""Reads the naming settings of a flow: policy, rename rule, map file and merged topics."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.file import values
from replication.config.file.input_file import read_input
from replication.config.file.properties import Value
from replication.config.keys.mm2_keys import POLICIES
from replication.config.keys.section_keys import field_of
from replication.config.keys.value_checks import located
from replication.config.sections.rename_rule import read_rename
from replication.errors import ConfigError
from replication.naming.checked_policy import CheckedPolicy, probe
from replication.naming.custom_policy import PREFIX, load_policy
from replication.naming.topic_map import read_map
from replication.settings.naming_settings import MappedName, Naming, OwnPolicyClass

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.config.file.findings import Notes
    from replication.config.sections.flows import Pair
    from replication.config.sections.section_reader import Reader

_LEGAL = re.compile(r"[A-Za-z0-9._-]*")
_CLASS, _SEPARATOR = "replication.policy.class", "replication.policy.separator"
_SETTINGS = "replication.policy.config."


def read_naming(read: Reader, flow: Pair, aliases: Collection[str], *, merging: bool,
                notes: Notes) -> Naming:  # fmt: skip
    """Return how topics are called on the target."""
    separator = read.field(Naming, "separator")
    kind, own = _policy(read, flow, separator, notes, merging=merging)
    rule = None
    if "topics.rename.replacement" in read.props or "topics.rename.regex" in read.props:
        rule, own = read_rename(read, flow, aliases, notes), None
        kind = "identity" if rule is None else "rename"
    _check_separator(read, flow, separator, notes, prefixes=kind == "prefix")
    return read.section(
        Naming,
        kind=kind,
        separator=separator,
        internal_separator=_internal_separator(read, separator),
        rename=rule,
        own=own,
        mapped=_mapped(read, aliases, notes),
    )


def _policy(
    read: Reader, flow: Pair, separator: str, notes: Notes, *, merging: bool
) -> tuple[str, OwnPolicyClass | None]:
    """Return the kind of policy that ``replication.policy.class`` names."""
    declared = read.props.get(_CLASS)
    if declared is None:
        kind = "identity" if merging else "prefix"
        read.note(_CLASS, next(name for name, each in POLICIES.items() if each == kind), None)
        return kind, None
    written = str(declared.parsed)
    if written.startswith(PREFIX):
        read.note(_CLASS, written, declared)
        return "own", _own(read, flow, written, separator, notes)
    known = POLICIES.get(written)
    if known is None:
        notes.error(
            declared.at,
            f"{values.displayed(declared.text)} is not a known policy; Java classes "
            "cannot be loaded",
            "DefaultReplicationPolicy, IdentityReplicationPolicy, topics.rename.regex, "
            "topics.map.file, or a class of your own in Python: python:package.module:Class",
        )
    read.note(_CLASS, written, declared)
    return known or "prefix", None


def _own(
    read: Reader, flow: Pair, written: str, separator: str, notes: Notes
) -> OwnPolicyClass | None:
    """Load the class once and ask it everything once: a mistake is to be seen before a start."""
    settings = {
        key.removeprefix(_SETTINGS): str(value.parsed)
        for key, value in read.props.items()
        if key.startswith(_SETTINGS)
    }
    settings |= {
        "source.cluster.alias": flow[0],
        "target.cluster.alias": flow[1],
        _SEPARATOR: separator,
    }
    found = OwnPolicyClass(
        written=written, folder=str(read.file.parent.absolute()), settings=settings
    )
    try:
        policy = load_policy(found.written, found.folder, found.settings)
        probe(CheckedPolicy(policy, written), *flow)
    except ConfigError as error:
        notes.error(read.props[_CLASS].at, str(error), "correct the class")
        return None
    return found


def _mapped(read: Reader, aliases: Collection[str], notes: Notes) -> tuple[MappedName, ...]:
    setting = read.props.get("topics.map.file")
    if setting is None:
        return ()
    path = located(read.text("topics.map.file"), read.file.parent.absolute())
    try:
        text = read_input(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        notes.error(setting.at, f"reading {path}: {why}", "a file of lines source-topic = name")
        return ()
    lines, wrong = read_map(text, aliases)
    for each in wrong:
        notes.error(setting.at, f"{path}:{each.line}: {each.reason}")
    return lines


def _internal_separator(read: Reader, separator: str) -> str:
    """Return the separator in the names of MirrorMaker 2's own topics."""
    key = replace(field_of(Naming, "internal_separator"), default=True)
    return separator if separator and read.value(key) else "."


def _check_separator(
    read: Reader, flow: Pair, separator: str, notes: Notes, *, prefixes: bool
) -> None:
    setting = read.props.get(_SEPARATOR, Value(".", "clusters"))
    if not separator and prefixes:
        notes.error(
            setting.at,
            "is empty: prefixed names would not show the source of a topic",
            "replication.policy.separator = .",
        )
    elif not _LEGAL.fullmatch(separator):
        notes.error(setting.at, f"{values.displayed(separator)} is not allowed in a topic name",
                    "use letters, digits, dot, underscore, dash")  # fmt: skip
    if prefixes and not _LEGAL.fullmatch(flow[0]):
        notes.error(("clusters", 0), f"{values.displayed(flow[0])} cannot start a topic name",
                    "use letters, digits, dot, underscore, dash")  # fmt: skip
