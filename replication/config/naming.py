"""Read how a flow's topics are called on the target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from replication.config import values
from replication.config.mm2_keys import POLICIES
from replication.config.model import Naming, RenameRule
from replication.config.properties import Value
from replication.java_regex import Untranslatable, to_python

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.config.findings import Notes
    from replication.config.flows import Pair
    from replication.config.reading import Reader

_CLUSTER_REFERENCE = re.compile(r"\$\{clusters\.([^}]*)\}")
_LEGAL = re.compile(r"[A-Za-z0-9._-]*")


def read_naming(read: Reader, flow: Pair, aliases: Collection[str], *, merging: bool,
                notes: Notes) -> Naming:  # fmt: skip
    """Return how topics are called on the target."""
    declared = read.props.get("replication.policy.class")
    separator = read.text("replication.policy.separator", ".")
    if declared is None:
        kind = "identity" if merging else "prefix"
        read.note("replication.policy.class", kind, None)
    else:
        known = POLICIES.get(read.resolve(declared.text).strip())
        if known is None:
            notes.error(
                declared.at,
                f"{values.shown(declared.text)} is not known: its names would not be MirrorMaker "
                "2's",
                "DefaultReplicationPolicy, IdentityReplicationPolicy, or topics.rename.regex",
            )
        kind = known or "prefix"
        read.note("replication.policy.class", kind, declared)
    renamed = "topics.rename.replacement" in read.props or "topics.rename.regex" in read.props
    rule = _rename(read, flow, aliases, notes) if renamed else None
    if renamed:
        kind = "identity" if rule is None else "rename"
    _check_separator(read, flow, separator, notes, prefixes=kind == "prefix")
    return Naming(
        kind=kind,
        separator=separator,
        internal_separator=_internal_separator(read, separator),
        rename=rule,
        merge=read.items("topics.merge", ()),
    )


def _internal_separator(read: Reader, separator: str) -> str:
    """Return what stands between the parts of MirrorMaker 2's own topics' names."""
    name = "replication.policy.internal.topic.separator.enabled"
    return separator if separator and read.boolean(name, default=True) else "."


def _check_separator(
    read: Reader, flow: Pair, separator: str, notes: Notes, *, prefixes: bool
) -> None:
    setting = read.props.get("replication.policy.separator", Value(".", "clusters"))
    if not separator and prefixes:
        notes.error(
            setting.at,
            "is empty: with prefixes the source of a topic could not be told from its name",
            "replication.policy.separator = .",
        )
    elif not _LEGAL.fullmatch(separator):
        notes.error(setting.at, f"{values.shown(separator)} cannot be part of a topic's name",
                    "letters, digits, dot, underscore, dash")  # fmt: skip
    if prefixes and not _LEGAL.fullmatch(flow[0]):
        notes.error(("clusters", 0), f"{values.shown(flow[0])} cannot begin a topic's name",
                    "letters, digits, dot, underscore, dash")  # fmt: skip


def _rename(read: Reader, flow: Pair, aliases: Collection[str], notes: Notes) -> RenameRule | None:
    replacement = read.text("topics.rename.replacement", "")
    regex = read.text("topics.rename.regex", "(.+)")
    at = read.props.get("topics.rename.replacement", Value("", "topics.rename.replacement")).at
    if not replacement:
        notes.error(at, "is not set, so topics.rename.regex says nothing", "e.g. ${source}.$1")
        return None
    named = set(_CLUSTER_REFERENCE.findall(replacement))
    for unknown in sorted(named - set(aliases)):
        notes.error(at, f"${{clusters.{unknown}}} names no cluster", f"known: {', '.join(aliases)}")
    if len(named) > 1:
        notes.error(at, "names more than one cluster; the rule can hold for one only",
                    "${source} stands for the source at hand")  # fmt: skip
    only_from = next(iter(sorted(named)), None)
    if only_from is not None and only_from != flow[0]:
        return None
    rule = RenameRule(
        pattern=_rename_pattern(read, regex, notes),
        replacement=_CLUSTER_REFERENCE.sub(lambda match: match[1], replacement),
        only_from=only_from,
    )
    _check_replacement(rule, at, notes)
    return rule


def _rename_pattern(read: Reader, regex: str, notes: Notes) -> str:
    at = read.props.get("topics.rename.regex", Value("", "topics.rename.regex")).at
    if re.fullmatch(r"\$\d", regex):
        whole = "|".join(read.items("topics", (".*",)))
        if (written := read.props.get("topics.regex")) is not None:
            whole = read.resolve(written.text).strip()
        notes.warn(at, f"{regex} is a reference, not a pattern: taken as the whole match of "
                   "topics.regex", f"topics.rename.regex = ({whole})")  # fmt: skip
        regex = f"({whole})"
    try:
        return to_python(regex)
    except Untranslatable as error:
        notes.error(at, str(error), "e.g. topics.rename.regex = (.+)")
        return "(.+)"


def _check_replacement(rule: RenameRule, at: tuple[str, int], notes: Notes) -> None:
    groups = re.compile(rule.pattern).groups
    for number in re.findall(r"(?<!\\)\$(\d)", rule.replacement):
        if int(number) > groups:
            notes.error(at, f"${number} names a group that topics.rename.regex does not have",
                        f"it has {groups}")  # fmt: skip
    for name in re.findall(r"\$\{([^}]*)\}", rule.replacement):
        if name not in ("source", "target"):
            notes.error(at, f"${{{name}}} is not known", "${source}, ${target}, ${clusters.X}, $1")
