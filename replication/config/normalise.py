"""Converts the lines of a file to plain properties under MirrorMaker 2's names.

After this step nothing of the looser dialect is left, so that the order of resolution can be
MirrorMaker 2's, to the letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.file import dialect
from replication.config.file.properties import PropertyEntry, Value
from replication.config.keys import mm2_keys, own_keys
from replication.config.keys.connection_keys import is_secret, masked
from replication.config.keys.key_status import client_name, lookup
from replication.config.keys.scopes import Scoped, split_key
from replication.durations import unit_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.config.file.findings import Notes

_LISTS = ("list", "patterns")
_BRACKETS = frozenset(".*+?()[]{}|^$dDwWsSbB-\\")


def from_entries(entries: Iterable[PropertyEntry], notes: Notes) -> dict[str, Value]:
    """Return the properties as Java would load them: of a repeated key the last one is used."""
    result: dict[str, Value] = {}
    for entry in entries:
        at = (entry.key, entry.line)
        if entry.key.startswith("//"):
            notes.warn(at, "// does not start a comment in a properties file; the line is ignored",
                       "write # at the start of the line")  # fmt: skip
        elif (meant := dialect.flow_arrow(entry.key, entry.value)) is not None:
            notes.error(at, "the blank ends the key and cuts off the flow's name", meant)
        else:
            if entry.key in result:
                before = result.pop(entry.key).line
                notes.warn(at, f"is also set on line {before}; the last one is used",
                           "remove one of the two lines")  # fmt: skip
            result[entry.key] = Value(entry.value, entry.key, entry.line)
            _mind_backslashes(entry, notes)
    return result


def normalise(
    props: Mapping[str, Value], aliases: Collection[str], notes: Notes
) -> dict[str, Value]:
    """Return ``props`` with plain values and MirrorMaker 2's names, remarking on each change."""
    result: dict[str, Value] = {}
    renamed: list[tuple[str, Value]] = []
    for key, value in props.items():
        scoped = split_key(key, aliases)
        name = canonical_name(scoped)
        plain = plain_text(Scoped(scoped.scope, scoped.prefix, name), value, notes)
        if name == scoped.name:
            result[key] = plain
        else:
            renamed.append((scoped.prefix + name, plain))
    for key, value in renamed:
        if key in result:
            notes.warn(value.at, f"has no effect, because {key} is set too", "remove it")
        else:
            kind = "is an old name" if value.key.endswith(_OLD) else "is not MirrorMaker 2's name"
            notes.warn(
                value.at, f"{kind}; it is read as {key}", f"{key} = {masked(value.key, value.text)}"
            )
            result[key] = value
    return result


def canonical_name(scoped: Scoped) -> str:
    """Return MirrorMaker 2's name for a key without its prefix."""
    name = scoped.name
    if scoped.scope == "top" and name.startswith("target.topic.creation."):
        return name.removeprefix("target.")
    if scoped.scope in ("top", "flow"):
        return mm2_keys.RENAMED.get(name) or own_keys.SPELLINGS.get(name) or name
    return name


def plain_text(scoped: Scoped, value: Value, notes: Notes) -> Value:
    """Return a value without the dialect's quotes, comments and units."""
    name = client_name(scoped) or scoped.name
    try:
        text, remarks = _plain(scoped, name, value)
    except dialect.UnclosedQuote as error:
        notes.error(value.at, str(error), "close or remove the quote")
        return value
    for remark in remarks:
        notes.warn(value.at, remark.message, remark.write)
    return Value(text, value.key, value.line)


def _plain(
    scoped: Scoped, name: str, value: Value
) -> tuple[str, tuple[dialect.SpellingRemark, ...]]:
    if is_secret(name):
        return dialect.secret_value(value.text, jaas=name == "sasl.jaas.config")
    if scoped.name.startswith((own_keys.TRANSFORM, *own_keys.CONNECT_TRANSFORMS)):
        return value.text, ()  # of SQL and of patterns every character counts
    known = lookup(scoped)
    kind = known.kind if known else "string"
    if kind == "pattern" or name.startswith("topics.rename."):
        return _one_pattern(value.text)
    if kind in _LISTS or name == "bootstrap.servers":
        return dialect.list_value(value.text, pattern=kind == "patterns")
    text, remarks = dialect.plain_value(value.text)
    number, more = dialect.in_unit(text, value.key, unit_of(name))
    return number, (*remarks, *more)


def _one_pattern(text: str) -> tuple[str, tuple[dialect.SpellingRemark, ...]]:
    """A regex in which commas separate nothing."""
    whole, remarks = dialect.list_value(text.replace(",", "\0"), pattern=True)
    return whole.replace("\0", ","), tuple(
        dialect.SpellingRemark(each.message, each.write.replace("\0", ",")) for each in remarks
    )


def _mind_backslashes(entry: PropertyEntry, notes: Notes) -> None:
    lost = [char for char in entry.dropped if char in _BRACKETS and char]
    patterns = entry.key.endswith(("topics", "groups", "exclude", "regex", "blacklist"))
    if lost and patterns:
        shown = ", ".join(f"\\{char}" for char in dict.fromkeys(lost))
        doubled = ", ".join(f"\\\\{char}" for char in dict.fromkeys(lost))
        notes.warn((entry.key, entry.line),
                   f"the properties format removes the backslash from {shown}",
                   doubled)  # fmt: skip


_OLD = ("blacklist", "whitelist")
