"""Says why ``isthmus set`` rejects a change: what is wrong with the key, and what else of the file.

The key has no line yet: the edited text that ``check`` refused was not written. Other problems are
named with the lines that the file has now.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.file.properties import decode, parse_properties
from replication.config.file.values import items
from replication.config.keys.key_status import UNKNOWN, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from replication.config.file.findings import ConfigFinding

_SHOWN = 3  # of the known keys that look like an unknown one


def refusal(file: Path, before: bytes, key: str, found: Iterable[ConfigFinding]) -> str:
    """Return why ``key`` was not set in ``file``, whose content is ``before``."""
    entries = parse_properties(decode(before))
    lines = {each.key: each.line for each in entries}
    aliases = items({each.key: each.value for each in entries}.get("clusters", ""))
    own = [_of_key(each, aliases) for each in found if each.key == key]
    others = [str(replace(each, line=lines.get(each.key, 0))) for each in found if each.key != key]
    if own and others:
        own.append("other problems of the file as it would be:")
    return "\n".join([*own, *others, f"nothing was changed in {file}"])


def _of_key(problem: ConfigFinding, aliases: Collection[str]) -> str:
    """Return a problem of the key itself, and what to do."""
    fix = problem.suggestion
    if problem.message == UNKNOWN:
        near = nearest(problem.key, aliases, _SHOWN)
        known = f"set one of the nearest: {', '.join(near)}; " if near else ""
        fix = f"{known}all keys are in docs/configuration.md"
    return f"{problem.key}: {problem.message}" + (f" → {fix}" if fix else "")
