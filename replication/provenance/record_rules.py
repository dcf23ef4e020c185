"""Which records of one source partition a flow copies, along which path and with which headers.

The rule stands in the partition's anchor. Until it was read, the rules are ``UNDECIDED``: nothing
can be copied under them. To copy all records is a decision like others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NoReturn, Self

from replication.model import BY_ID
from replication.provenance.record_headers import OriginHeaders

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from replication.model import TopicPartition
    from replication.provenance.origins import ForwardingRule, ReplicationPath
    from replication.provenance.producer_registry import SourceRegistry
    from replication.provenance.record_headers import RecordOrigin


@dataclass(frozen=True, slots=True)
class RecordRules:
    """The rules of one partition, for as long as it is copied in one go."""

    # The replication path by producer id and source offset; None: all records are copied.
    path_of: Callable[[int, int], ReplicationPath | None] | None
    # Loads what ``path_of`` needs of producer ids.
    look_up: Callable[[Collection[int]], Awaitable[None]]
    recast: OriginHeaders | None  # leaves records out, or adds headers; None: neither

    @classmethod
    def of(
        cls,
        partition: TopicPartition,
        rule: ForwardingRule | None,
        registry: SourceRegistry,
        *,
        stamp: RecordOrigin | None,
        needed: bool,
    ) -> Self:
        """Return the rules of a source partition.

        ``stamp``: what to write into records that were produced there; None: nothing. ``needed``:
        the registry has to be read, since the source has copies.
        """
        look_up = partial(registry.look_up, needed=needed)
        if rule is not None and rule.by == BY_ID:
            path_of = partial(registry.origins.path_of, rule=rule)
            return cls(path_of, look_up, OriginHeaders(partition, None, stamp) if stamp else None)
        return cls(None, look_up, OriginHeaders(partition, rule, stamp) if rule or stamp else None)


def _undecided(*_: object) -> NoReturn:
    raise RuntimeError("a partition is copied before it is known which of its records are copies")


UNDECIDED = RecordRules(_undecided, _undecided, None)
