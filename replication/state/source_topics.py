"""State records of a flow's source: what it had when the flow first started, and what is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from replication.state.record import StateRecord

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class InventoryPart(StateRecord):
    """A part of the source's topics as they were when the flow first started.

    Part 0 is written before anything is copied and holds no topics; its ``parts`` is set when the
    parts 1 to ``parts``, some hundred topics each, are written. Never changed afterwards.
    """

    KIND: ClassVar[str] = "inventory"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "part")

    flow: str
    part: int
    begun_ms: int = 0  # when the flow first saw its source; 0: before Isthmus kept inventories
    parts: int | None = None  # None: the first looks at the source did not agree yet
    known: Mapping[str, tuple[str, int, bool]] = field(
        default_factory=dict
    )  # by topic: its id, partitions, and whether the flow selected it


@dataclass(frozen=True, slots=True)
class AbsentTopic(StateRecord):
    """A topic that the flow has copied and that it does not copy now. Its copy is kept."""

    KIND: ClassVar[str] = "absent"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the source
    state: str = ""  # a PartitionState of ABSENT; empty: it is copied again
    reason: str = ""
    at_ms: int = 0  # when that was noticed
