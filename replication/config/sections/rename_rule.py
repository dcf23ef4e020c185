"""Reads and checks ``topics.rename.regex`` and ``topics.rename.replacement``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.naming.java_regex import Untranslatable, to_python
from replication.naming.java_replacement import BadReplacement, read_replacement
from replication.settings.naming_settings import RenameRule

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.config.file.findings import Notes
    from replication.config.sections.flows import Pair
    from replication.config.sections.section_reader import Reader

_CLUSTER_REFERENCE = re.compile(r"\$\{clusters\.([^}]*)\}")
_REGEX, _REPLACEMENT = "topics.rename.regex", "topics.rename.replacement"


def read_rename(
    read: Reader, flow: Pair, aliases: Collection[str], notes: Notes
) -> RenameRule | None:
    """Return the rule that holds for a flow; None where it names another source, or is wrong.

    ``${clusters.A}`` stands for A and limits the rule to flows from A.
    """
    replacement = read.text(_REPLACEMENT)
    regex = read.text(_REGEX, "(.+)")
    at = read.props.get(_REPLACEMENT, Value("", _REPLACEMENT)).at
    if not replacement:
        notes.error(at, f"is not set, so {_REGEX} has no effect", "e.g. ${source}.$1")
        return None
    named = set(_CLUSTER_REFERENCE.findall(replacement))
    for unknown in sorted(named - set(aliases)):
        notes.error(at, f"${{clusters.{unknown}}} names no cluster", f"known: {', '.join(aliases)}")
    if len(named) > 1:
        notes.error(at, "names more than one cluster; a rule applies to one",
                    "write ${source} for each flow's own source")  # fmt: skip
    if named and named != {flow[0]}:
        return None
    pattern = _pattern(read, regex, notes)
    literal = re.sub(r"([\\$])", r"\\\1", flow[0])
    replacement = _CLUSTER_REFERENCE.sub(lambda _: literal, replacement)
    try:
        read_replacement(replacement, re.compile(pattern, re.ASCII))
    except BadReplacement as error:
        notes.error(at, str(error), "$1 for a group, ${source} for the source's name")
        return None
    return RenameRule(pattern=pattern, replacement=replacement)


def _pattern(read: Reader, regex: str, notes: Notes) -> str:
    at = read.props.get(_REGEX, Value("", _REGEX)).at
    if re.fullmatch(r"\$\d", regex):
        whole = "|".join(_topics(read))
        notes.warn(at, f"{regex} is a reference, not a pattern: it is read as the whole match of "
                   "topics.regex", f"{_REGEX} = ({whole})")  # fmt: skip
        regex = f"({whole})"
    try:
        return to_python(regex)
    except Untranslatable as error:
        notes.error(at, str(error), f"e.g. {_REGEX} = (.+)")
        return "(.+)"


def _topics(read: Reader) -> tuple[str, ...]:
    """Return the patterns that the file selects topics by; ``topics.regex`` goes first here."""
    written = read.props.get("topics.regex", read.props.get("topics"))
    found = written.parsed if written else None
    return found if isinstance(found, tuple) else (".*",)
