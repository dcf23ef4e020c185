"""Generates the tables of keys on the pages of docs/ from the sections of the settings.

A table is between ``<!-- settings: Section Section.field -->`` and ``<!-- end -->``. ``Section``
stands for all of its fields that no table of the page names singly. ``make docs`` renews them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.config.file.values import SPANS, written
from replication.config.keys.section_keys import SECTIONS, field_of, fields_of
from replication.settings.setting_key import KeyLevel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from replication.config.keys.section_keys import SectionField
    from replication.settings.setting_key import Key

_DOCS = Path(__file__).parents[3] / "docs"
PAGES = (_DOCS / "configuration.md", _DOCS / "transforms.md")
_TABLE = re.compile(r"<!-- settings: (.+?) -->\n.*?<!-- end -->", re.DOTALL)
_PREFIXES = {KeyLevel.WORKER: "B.", KeyLevel.CONSUMER: "A.consumer."}


def renewed(page: str) -> str:
    """Return the page with each of its tables as the sections have it."""
    single = {name for each in _TABLE.finditer(page) for name in each[1].split() if "." in name}
    return _TABLE.sub(
        lambda match: f"<!-- settings: {match[1]} -->\n{_table(match[1], single)}\n<!-- end -->",
        page,
    )


def _table(names: str, single: Collection[str]) -> str:
    rows = [_row(each, key) for each in _named(names, single) for key in each.keys]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])


def _named(names: str, single: Collection[str]) -> Iterator[SectionField]:
    """Yield the fields of ``Section.field``, and those of ``Section`` but ``single`` ones.

    Raises KeyError for an unknown name.
    """
    sections = {each.__name__: each for each in SECTIONS}
    for name in names.split():
        section, _, field = name.partition(".")
        if field:
            yield field_of(sections[section], field)
        else:
            found = fields_of(sections[section])
            yield from (each for each in found if f"{section}.{each.name}" not in single)


def _row(field: SectionField, key: Key) -> str:
    default = key.default or (_displayed(field.default, key) if key is field.keys[0] else "")
    name = f"{_PREFIXES.get(key.level, '')}{key.name}"
    return f"| `{name}` | {default} | {key.description}{_least(key)} |"


def _least(key: Key) -> str:
    """Return what a row says of the least value; nothing where it is plain, such as 0."""
    if key.least is None or (isinstance(key.least, int) and key.least < 1):
        return ""
    least = written(key.kind, "", key.least)
    return f"; a shorter one counts as {least}" if key.kind in SPANS else f"; at least {least}"


def _displayed(default: Any, key: Key) -> str:
    """Return a default as a file would write it, in backticks; empty: none."""
    if isinstance(default, tuple):
        return ", ".join(f"`{each}`" for each in default)
    return f"`{written(key.kind, key.name, default)}`" if default not in ("", None, {}) else ""


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(renewed(each.read_text("utf-8")), "utf-8")
