"""State records of transforms: from where on both sides they made what the target has.

Offsets are by topic, one a partition. The numbers of ``era`` tell the starts of a transform apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the annotations are evaluated
from dataclasses import dataclass, field
from typing import ClassVar

from replication.state.record import StateRecord


@dataclass(frozen=True, slots=True)
class TransformStart(StateRecord):
    """Where a transform began to work as it works now.

    Its results of source offsets from ``sources`` on stand behind ``targets``, and nothing else of
    it does. When the transform, a topic or a number of partitions changes, it begins again.
    """

    KIND: ClassVar[str] = "transform start"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "number")

    flow: str
    number: int  # of the transform in the flow
    definition: str = ""  # a digest of what it does
    # By source topic, an offset a partition; None: it was never transformed.
    sources: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    source_ids: Mapping[str, str] = field(default_factory=dict)  # of these topics
    target_ids: Mapping[str, str] = field(default_factory=dict)  # of their copies
    targets: Mapping[str, Sequence[int]] = field(default_factory=dict)  # likewise, on the target
    at_ms: int = 0
    began_ms: int = 0  # when it began; 0: an older release stored it


@dataclass(frozen=True, slots=True)
class TransformPoint(StateRecord):
    """Offsets of both sides that belong together: what was there when nothing was open.

    The results of source offsets before ``sources`` stand before ``targets``, all others at or
    behind it. A partition that is not named had not begun. It stays true for ever.
    """

    KIND: ClassVar[str] = "transform point"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "number", "slot")

    flow: str
    number: int  # of the transform in the flow
    slot: int  # which of the retained points
    era: int = 0  # ``began_ms`` of the start
    minute: int = 0  # since then
    sources: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    targets: Mapping[str, Sequence[int]] = field(default_factory=dict)
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class TransformVerified(StateRecord):
    """A point of a transform up to which a verification found all results as they should be."""

    KIND: ClassVar[str] = "transform verified"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "number")

    flow: str
    number: int  # of the transform in the flow
    era: int = 0
    sources: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    targets: Mapping[str, Sequence[int]] = field(default_factory=dict)
    at_ms: int = 0  # when it was so
