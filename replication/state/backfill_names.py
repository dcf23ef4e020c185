"""The names of a backfill: its source alias is its own, and so are its state and producers.

A backfill of A->B reads A under another alias. It has anchors, offset points, producers and a lease
like every flow, and none of them can be taken for those of A->B, beside which it runs. The same
holds for records from files: their alias is another one again.
"""

from __future__ import annotations

from dataclasses import dataclass

_SUFFIX, _FILES_SUFFIX = "-backfill", "-files"


@dataclass(frozen=True, slots=True)
class BackfillNames:
    """What a backfill of the flow ``source->target`` calls its things."""

    source: str
    target: str
    suffix: str = _SUFFIX

    @classmethod
    def of_files(cls, source: str, target: str) -> BackfillNames:
        """Return the names of what appends records from files."""
        return cls(source, target, _FILES_SUFFIX)

    @property
    def stem(self) -> str:
        return f"{self.source}-to-{self.target}"

    @property
    def source_alias(self) -> str:
        """The alias under which the backfill knows the source."""
        return f"{self.source}{self.suffix}"

    @property
    def flow(self) -> str:
        return f"{self.source_alias}->{self.target}"


def is_backfill(flow: str) -> bool:
    """Say whether a flow of this name is a backfill, from its source or from files."""
    return flow.partition("->")[0].endswith((_SUFFIX, _FILES_SUFFIX))
