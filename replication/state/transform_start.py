"""State records of transforms: from where on both sides they made what the target has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the annotations are evaluated
from dataclasses import dataclass, field
from typing import ClassVar

from replication.state.record import Record


@dataclass(frozen=True, slots=True)
class TransformStart(Record):
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
