"""Source offsets of MirrorMaker 2's connectors in Connect's offsets topic. Pure.

Connect finds a position by the bytes of its key, and places it by their murmur2 hash, so the
members of a key are in exactly the order in which Java's maps yield them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOURCE = "MirrorSourceConnector"
CHECKPOINT = "MirrorCheckpointConnector"
HEARTBEAT = "MirrorHeartbeatConnector"
# Members of each connector's keys, in Java's order.
_MEMBERS = {
    SOURCE: ("cluster", "partition", "topic"),
    CHECKPOINT: ("partition", "topic", "group"),
    HEARTBEAT: ("sourceClusterAlias", "targetClusterAlias"),
}
_LARGEST_PARTITION = (1 << 31) - 1


class StoredOffset(NamedTuple):
    """A source connector's position: the last record copied; None: reset, it starts over.

    Connect's own clusters call connectors as they like, the dedicated mode by their class.
    """

    cluster: str
    partition: TopicPartition
    offset: int | None
    connector: str = SOURCE

    def key(self) -> bytes:
        topic, partition = self.partition
        place = {"cluster": self.cluster, "partition": partition, "topic": topic}
        return key_of(SOURCE, place, self.connector)

    def value(self) -> bytes | None:
        return None if self.offset is None else _dump({"offset": self.offset})


def key_of(kind: str, partition: Mapping[str, Any], name: str = "") -> bytes:
    """Return a key of a connector of this kind; ``partition`` has that kind's members."""
    return _dump([name or kind, {each: partition[each] for each in _MEMBERS[kind]}])


def parse_offset(key: bytes | None, value: bytes | None) -> StoredOffset | None:
    """Decode a record of the offsets topic; None: it is not a position of a source connector."""
    try:
        connector, partition = json.loads(key or b"")
        offset = None if value is None else json.loads(value)
    except (ValueError, TypeError):
        return None
    if not isinstance(connector, str) or not _names(SOURCE, partition):
        return None
    if problem_of(SOURCE, partition, offset) is not None:
        return None
    where = TopicPartition(partition["topic"], int(partition["partition"]))
    at = None if offset is None else int(offset["offset"])
    return StoredOffset(partition["cluster"], where, at, connector)


def newest(records: Iterable[tuple[bytes | None, bytes | None]]) -> dict[bytes, StoredOffset]:
    """Return the newest position by the exact bytes of its key, as Connect looks it up."""
    found = ((key, parse_offset(key, value)) for key, value in records)
    return {key: each for key, each in found if key is not None and each is not None}


def positions(stored: Iterable[StoredOffset], cluster: str) -> dict[TopicPartition, int]:
    """Return the last copied offset of each partition of ``cluster``, the furthest of any name."""
    found: dict[TopicPartition, int] = {}
    for each in stored:
        if each.cluster == cluster and each.offset is not None:
            found[each.partition] = max(each.offset, found.get(each.partition, 0))
    return found


def connectors(stored: Iterable[StoredOffset], cluster: str) -> tuple[str, ...]:
    """Return the names under which positions of ``cluster`` are kept; else the usual one."""
    return tuple(sorted({each.connector for each in stored if each.cluster == cluster})) or (
        SOURCE,
    )


def problem_of(connector: str, partition: object, offset: object) -> str | None:
    """Return why Connect would reject this position of ``connector``; None: it would not.

    A null offset resets, whatever the partition looks like. Only the source connector has a
    position: the others' is always 0.
    """
    if offset is None:
        return None
    if not _names(connector, partition):
        members = ", ".join(_MEMBERS[connector])
        return f"the partition must have the fields {members} with their types: {partition!r}"
    number: Any = offset.get("offset") if isinstance(offset, dict) else None
    if not _whole(number):
        return f"the offset must be a whole number: {offset!r}"
    if number < 0 or (connector != SOURCE and number != 0):
        return f"the offset must be {'0 or more' if connector == SOURCE else '0'}: {number}"
    return None


def _names(connector: str, partition: object) -> bool:
    if not isinstance(partition, dict):
        return False
    for name in _MEMBERS[connector]:
        value = partition.get(name)
        if name == "partition":
            if not _whole(value) or not 0 <= int(value or 0) <= _LARGEST_PARTITION:
                return False
        elif not isinstance(value, str):
            return False
    return True


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
