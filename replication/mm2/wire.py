"""MirrorMaker 2's heartbeats, checkpoints and offset syncs as bytes. Pure.

All are Kafka's classic primitives, big-endian: a string is its length in bytes as INT16, then
UTF-8. Keys carry no version; the values of checkpoints and heartbeats start with INT16 0. Bytes
behind the last field are passed over, as MirrorMaker 2 does.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHORT, _INT, _LONG = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_VERSION = 0
_LONGEST = (1 << 15) - 1


class Undecodable(ReplicationError):
    """Bytes that are no record of the kind that was expected."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One heartbeat of the pair ``source -> target``, written on the target."""

    source: str
    target: str
    at_ms: int

    def key(self) -> bytes:
        return _string(self.source) + _string(self.target)

    def value(self) -> bytes:
        return _SHORT.pack(_VERSION) + _LONG.pack(self.at_ms)

    @classmethod
    def parse(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        """Decode a record. Raises Undecodable."""
        names, content = _Fields(key), _Fields(value, version=_VERSION)
        return cls(names.string(), names.string(), content.int64())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The committed offset of a source's group, and its translation on the target.

    ``topic`` is the name on the target. ``metadata`` is the group's own of that commit.
    """

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    def key(self) -> bytes:
        return _string(self.group) + _string(self.topic) + _INT.pack(self.partition)

    def value(self) -> bytes:
        return (
            _SHORT.pack(_VERSION)
            + _LONG.pack(self.upstream)
            + _LONG.pack(self.downstream)
            + _string(self.metadata)
        )

    @classmethod
    def parse(cls, key: bytes | None, value: bytes | None) -> Checkpoint:
        """Decode a record. Raises Undecodable."""
        names, content = _Fields(key), _Fields(value, version=_VERSION)
        return cls(
            names.string(),
            names.string(),
            names.int32(),
            content.int64(),
            content.int64(),
            content.string(),
        )


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """The same record's offset on both sides. ``topic`` is the name on the source."""

    topic: str
    partition: int
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _string(self.topic) + _INT.pack(self.partition)

    def value(self) -> bytes:
        return _LONG.pack(self.upstream) + _LONG.pack(self.downstream)

    @classmethod
    def parse(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        """Decode a record. Raises Undecodable."""
        names, content = _Fields(key), _Fields(value)
        return cls(names.string(), names.int32(), content.int64(), content.int64())


Kind = TypeVar("Kind", Heartbeat, Checkpoint, OffsetSync)


def parse_all(
    parse: Callable[[bytes | None, bytes | None], Kind],
    records: Iterable[tuple[bytes | None, bytes | None]],
) -> Iterator[Kind]:
    """Yield what can be decoded; a single bad record or tombstone is left out, never its batch."""
    for key, value in records:
        try:
            yield parse(key, value)
        except Undecodable:
            continue


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > _LONGEST:
        raise ReplicationError(f"{text[:40]!r}… has {len(data)} bytes: a name or metadata of "
                               f"MirrorMaker 2's records has at most {_LONGEST}")  # fmt: skip
    return _SHORT.pack(len(data)) + data


class _Fields:
    """Reads one field after the other."""

    def __init__(self, data: bytes | None, version: int | None = None) -> None:
        if data is None:
            raise Undecodable("a tombstone")
        self._data, self._at = data, 0
        if version is not None and (found := int(self._take(_SHORT))) != version:
            raise Undecodable(f"a record of version {found}, not {version}")

    def int32(self) -> int:
        return self._take(_INT)

    def int64(self) -> int:
        return self._take(_LONG)

    def string(self) -> str:
        length = self._take(_SHORT)
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise Undecodable(f"a text of {length} bytes in a record of {len(self._data)}")
        text, self._at = self._data[self._at : end], end
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"a text that is not UTF-8: {error.reason}") from None

    def _take(self, kind: struct.Struct) -> int:
        try:
            (number,) = kind.unpack_from(self._data, self._at)
        except struct.error:
            raise Undecodable(f"{len(self._data)} bytes end within a record") from None
        self._at += kind.size
        return int(number)
