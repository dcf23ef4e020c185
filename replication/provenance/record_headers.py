"""Record headers that say where a record was born: written by option, and understood. Pure.

``isthmus.origin`` holds alias, cluster id, topic, partition and offset of the birthplace, parted by
slashes, which topics and ids do not contain. A record that has one keeps it on its way.

Of others we know: Redpanda Migrator writes the id of the source cluster as
``redpanda-migrator-provenance``; MSK Replicator marks what it copied under kept names with
``__mskmr``, whose content is its own affair, so that such a record counts as a copy for us as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.records.codec import headers_of, with_headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.model import TopicPartition
    from replication.provenance.origins import Rule
    from replication.records.codec import Record

ORIGIN = "isthmus.origin"
_MIGRATOR = "redpanda-migrator-provenance"
_MSK = "__mskmr"


class RecordOrigin(NamedTuple):
    """The cluster that a record was born on, as far as its headers tell."""

    cluster: str  # id; empty: not told
    alias: str = ""


def birthplace(listed: Iterable[tuple[str, bytes | None]]) -> RecordOrigin | None:
    """Return where a record with these headers says that it was born; None: it does not say."""
    headers = {name: value or b"" for name, value in listed}
    if (own := headers.get(ORIGIN)) is not None:
        alias, _, rest = own.decode(errors="replace").partition("/")
        return RecordOrigin(rest.partition("/")[0], alias)
    if (theirs := headers.get(_MIGRATOR)) is not None:
        return RecordOrigin(theirs.decode(errors="replace"))
    return RecordOrigin("") if _MSK in headers else None


def is_copied(born: RecordOrigin | None, rule: Rule) -> bool:
    """Say whether a flow with ``rule`` copies what was born there; None: on its source."""
    if born is None:
        return True
    known = born.cluster not in {"", rule.target}
    return known and born.alias not in rule.elsewhere


@dataclass(frozen=True, slots=True)
class OriginHeaders:
    """What becomes of each record of a partition. Which ones remain depends on the log alone (E).

    ``rule``: which copies are left out, by their headers; None: none. ``stamp``: alias and id of
    the source, to be written into what was born there; None: nothing is written.
    """

    partition: TopicPartition
    rule: Rule | None = None
    stamp: RecordOrigin | None = None

    def __call__(self, record: Record) -> Record | None:
        """Return the record to append; None: it is not to be copied. Raises CorruptBatch."""
        born = birthplace(headers_of(record))
        if born is None:
            return record if self.stamp is None else self._stamped(record, self.stamp)
        return record if self.rule is None or is_copied(born, self.rule) else None

    def _stamped(self, record: Record, source: RecordOrigin) -> Record:
        topic, number = self.partition
        told = f"{source.alias}/{source.cluster}/{topic}/{number}/{record.offset}"
        return replace(record, rest=with_headers(record.rest, [(ORIGIN, told.encode())]))
