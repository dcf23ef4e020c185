"""Origin headers: names the cluster where a record was produced; written by option. Pure.

``isthmus.origin`` holds alias, cluster id, topic, partition and offset of the origin, separated by
slashes, which topics and ids do not contain. A record keeps this header on later hops.

Headers of other tools: Redpanda Migrator writes the id of the source cluster as
``redpanda-migrator-provenance``; MSK Replicator marks records that it copied under the same topic
name with ``__mskmr``. Its content is undocumented, so such a record counts as a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.records.codec import headers_of, with_headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.model import TopicPartition
    from replication.provenance.origins import ForwardingRule
    from replication.records.codec import BatchRecord

ORIGIN = "isthmus.origin"
_MIGRATOR = "redpanda-migrator-provenance"
_MSK = "__mskmr"


class RecordOrigin(NamedTuple):
    """The cluster on which a record was produced, as far as its headers name it."""

    cluster: str  # id; empty: unknown
    alias: str = ""


def origin_of(listed: Iterable[tuple[str, bytes | None]]) -> RecordOrigin | None:
    """Return the origin in a record's headers; None: they name none."""
    headers = {name: value or b"" for name, value in listed}
    if (own := headers.get(ORIGIN)) is not None:
        alias, _, rest = own.decode(errors="replace").partition("/")
        return RecordOrigin(rest.partition("/")[0], alias)
    if (theirs := headers.get(_MIGRATOR)) is not None:
        return RecordOrigin(theirs.decode(errors="replace"))
    return RecordOrigin("") if _MSK in headers else None


def is_copied(origin: RecordOrigin | None, rule: ForwardingRule) -> bool:
    """Say whether a flow with ``rule`` copies records of ``origin``; None: its source."""
    if origin is None:
        return True
    known = origin.cluster not in {"", rule.target}
    return known and origin.alias not in rule.elsewhere


@dataclass(frozen=True, slots=True)
class OriginHeaders:
    """Filters and stamps the records of a partition. Which ones remain depends on the log only (E).

    ``rule``: which copies to leave out, by their headers; None: none. ``stamp``: alias and id of
    the source, to write into records that were produced there; None: write nothing.
    """

    partition: TopicPartition
    rule: ForwardingRule | None = None
    stamp: RecordOrigin | None = None

    def __call__(self, record: BatchRecord) -> BatchRecord | None:
        """Return the record to append; None: do not copy it. Raises CorruptBatch."""
        origin = origin_of(headers_of(record))
        if origin is None:
            return record if self.stamp is None else self._stamped(record, self.stamp)
        return record if self.rule is None or is_copied(origin, self.rule) else None

    def _stamped(self, record: BatchRecord, source: RecordOrigin) -> BatchRecord:
        topic, number = self.partition
        content = f"{source.alias}/{source.cluster}/{topic}/{number}/{record.offset}"
        return replace(record, rest=with_headers(record.rest, [(ORIGIN, content.encode())]))
