"""Base class of state records: kind, key and version, encoded as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1


class UnknownVersion(ReplicationError):
    """A record was written by a newer Isthmus."""


class StateRecord:
    """A record: ``KEYS`` make the key, all other fields the value."""

    KIND: ClassVar[str]
    KEYS: ClassVar[tuple[str, ...]]

    def key(self) -> bytes:
        """Return the record's key; equal keys replace one another under compaction."""
        return _dump({"kind": self.KIND, **{name: getattr(self, name) for name in self.KEYS}})

    def value(self) -> bytes:
        """Return the record's value, with its version."""
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        # Not asdict: it copies every value, which takes longer than all the rest.
        rest = {name: getattr(self, name) for name in names if name not in self.KEYS}
        return _dump({"v": VERSION, **rest})

    @classmethod
    def parse(cls, key: Mapping[str, Any], value: Mapping[str, Any]) -> Self:
        """Build from a decoded key and value; unknown fields are ignored."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        return cls(**{k: v for k, v in {**key, **value}.items() if k in known})


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
