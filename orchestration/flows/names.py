"""Refuses a name that exists nowhere, and says which ones are near.

All commands use it for all names: flows, topics, partitions, groups, choices.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEAR = 3
_FEW = 10  # so many names are listed where none is near


def require_name(kind: str, name: str | int, known: Iterable[str | int], where: str) -> None:
    """Raise ConfigError unless ``name`` is among ``known``: the names of ``kind`` in ``where``."""
    names = list(dict.fromkeys(map(str, known)))
    if str(name) in names:
        return
    raise ConfigError(f"{where}: no {kind} {str(name)!r}; {_others(str(name), names)}")


def _others(name: str, names: list[str]) -> str:
    by_case = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), by_case, _NEAR)
    if near and len(names) > _NEAR:
        return f"near: {', '.join(by_case[each] for each in near)}"
    more = len(names) - _FEW
    listed = ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")
    return f"there is {listed}" if names else "there is none"
