"""The names of a drill: aliases, canary topic and group of its own, so that it meets no real one.

A drill of A->B copies between the same two clusters under aliases that no flow has, so its state
topics are its own too. Its canary topic is Isthmus' own: flows of other aliases never copy it.
"""

from __future__ import annotations

from dataclasses import dataclass

_SOURCE, _TARGET = "-drill-source", "-drill-target"


@dataclass(frozen=True, slots=True)
class DrillNames:
    """What a drill of the flow ``source->target`` calls its things."""

    source: str
    target: str

    @property
    def stem(self) -> str:
        return f"{self.source}-to-{self.target}"

    @property
    def source_alias(self) -> str:
        """The alias under which the drill knows the source."""
        return f"{self.stem}{_SOURCE}"

    @property
    def target_alias(self) -> str:
        """The alias under which the drill knows the target."""
        return f"{self.stem}{_TARGET}"

    @property
    def flow(self) -> str:
        return f"{self.source_alias}->{self.target_alias}"

    @property
    def back(self) -> str:
        """The flow by which clients' records return."""
        return f"{self.target_alias}->{self.source_alias}"

    @property
    def topic(self) -> str:
        return _topic(self.stem)

    @property
    def group(self) -> str:
        return f"__isthmus-drill.{self.stem}"


def canary_of(alias: str) -> str | None:
    """Return the canary topic that flows from this alias copy; None: no drill has the alias."""
    for end in (_SOURCE, _TARGET):
        if alias.endswith(end):
            return _topic(alias.removesuffix(end))
    return None


def _topic(stem: str) -> str:
    return f"isthmus-drill.{stem}.internal"
