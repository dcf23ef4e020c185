"""Generates the tables of keys in docs/configuration.md from the sections of the settings.

A table is between ``<!-- settings: Section Section.field -->`` and ``<!-- end -->``.
``make docs`` renews them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.config.file.values import format_size, written
from replication.config.keys.section_keys import SECTIONS, fields_of
from replication.settings.setting_key import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.config.keys.section_keys import SectionField
    from replication.settings.setting_key import Key

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"
_TABLE = re.compile(r"<!-- settings: (.+?) -->\n.*?<!-- end -->", re.DOTALL)
_PREFIXES = {Level.WORKER: "B.", Level.CONSUMER: "A.consumer."}


def renewed(page: str) -> str:
    """Return the page with each of its tables as the sections have it."""
    return _TABLE.sub(
        lambda match: f"<!-- settings: {match[1]} -->\n{_table(match[1])}\n<!-- end -->", page
    )


def _table(names: str) -> str:
    rows = [_row(each, key) for each in _named(names) for key in each.keys]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])


def _named(names: str) -> Iterator[SectionField]:
    """Yield the fields of ``Section`` and ``Section.field``. Raises KeyError."""
    sections = {each.__name__: each for each in SECTIONS}
    for name in names.split():
        section, _, field = name.partition(".")
        fields = {each.name: each for each in fields_of(sections[section])}
        yield from [fields[field]] if field else fields.values()


def _row(field: SectionField, key: Key) -> str:
    default = key.default or (_displayed(field.default, key) if key is field.keys[0] else "")
    least = "" if key.least is None or key.least < 1 else f"; at least {_least(key)}"
    name = f"{_PREFIXES.get(key.level, '')}{key.name}"
    return f"| `{name}` | {default} | {key.description}{least} |"


def _least(key: Key) -> str:
    return format_size(key.least or 0) if key.kind == "bytes" else str(key.least)


def _displayed(default: Any, key: Key) -> str:
    """Return a default as a file would write it, in backticks; empty: none."""
    if isinstance(default, tuple):
        return ", ".join(f"`{each}`" for each in default)
    return f"`{written(key.kind, key.name, default)}`" if default not in ("", None, {}) else ""


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
