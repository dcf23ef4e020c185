"""Keep the lines of a checked file without its secrets, for a start while the file is broken. Pure.

The values of secrets are taken from the present file: they are never written a second time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from replication.config.file.properties import PropertyEntry
from replication.config.keys.connection_keys import masked

if TYPE_CHECKING:
    from collections.abc import Iterable


class KeptLines(NamedTuple):
    """The lines, and when they were read, in ms since 1970."""

    entries: tuple[PropertyEntry, ...]
    read_ms: int


def dump(entries: Iterable[PropertyEntry], read_ms: int) -> str:
    """Return the lines as JSON text, with null for each value that is a secret or holds one."""
    lines = [
        [each.key, None if masked(each.key, each.value) != each.value else each.value, each.line]
        for each in entries
    ]
    return json.dumps({"read_ms": read_ms, "lines": lines})


def restore(text: str, present: Iterable[PropertyEntry]) -> KeptLines | None:
    """Return the lines, with the secrets of ``present``. None: damaged, or a secret is gone."""
    secrets = {each.key: each.value for each in present}
    try:
        kept = json.loads(text)
        entries = tuple(
            PropertyEntry(key, secrets[key] if value is None else value, line)
            for key, value, line in kept["lines"]
        )
        return KeptLines(entries, int(kept["read_ms"]))
    except (ValueError, KeyError, TypeError):
        return None
