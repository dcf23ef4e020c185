"""The scope of a key: all flows, one cluster, or one flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from replication.config.keys.precedence import owner

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class Scoped:
    """A key without its prefix. ``prefix`` ends in a dot, or is empty at the top level."""

    scope: Literal["top", "cluster", "flow", "unknown flow"]
    prefix: str
    name: str

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters that the prefix names."""
        return tuple(self.prefix.removesuffix(".").split("->")) if self.prefix else ()


def split_key(key: str, aliases: Collection[str]) -> Scoped:
    """Split a key into its prefix and its name. The longest alias that matches wins."""
    if "->" in key.split(".", 1)[0] or _flow_prefix(key, aliases):
        prefix = _flow_prefix(key, aliases)
        if prefix is None:
            head, _, name = key.rpartition(".") if key.count(".") == 1 else _guess(key)
            return Scoped("unknown flow", f"{head}.", name)
        return Scoped("flow", prefix, key[len(prefix) :])
    alias = owner(key, aliases)
    if alias is None:
        return Scoped("top", "", key)
    return Scoped("cluster", f"{alias}.", key[len(alias) + 1 :])


def _flow_prefix(key: str, aliases: Collection[str]) -> str | None:
    source, arrow, rest = key.partition("->")
    if not arrow or source not in aliases:
        return None
    target = owner(rest, aliases)
    return f"{source}->{target}." if target is not None else None


def _guess(key: str) -> tuple[str, str, str]:
    """Take everything up to the first dot after the arrow for the flow's name."""
    source, _, rest = key.partition("->")
    target, dot, name = rest.partition(".")
    return f"{source}->{target}", dot, name
