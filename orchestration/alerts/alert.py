"""One alert as a value: its lines for a chat, and its fields as a webhook gets them."""

from __future__ import annotations

from dataclasses import dataclass

from replication.durations import format_moment

PROBLEM, RESOLVED, RUN_FAILED, TEST = "check_failed", "check_passed", "run_failed", "test"
_SHOWN = 10  # flows, and partitions at risk


@dataclass(frozen=True, slots=True)
class Alert:
    """``text`` alone is enough to act on, as chat tools show nothing else."""

    kind: str  # PROBLEM, RESOLVED, RUN_FAILED or TEST
    subject: str  # a flow, a cluster, an application, or the file
    text: str
    at_ms: int
    source: str = "isthmus"
    state: str = ""
    since_ms: int = 0
    flows: tuple[str, ...] = ()
    at_risk: tuple[str, ...] = ()  # topic-partitions with ranges of source offsets
    halted: tuple[str, ...] = ()  # topics that are not copied, each with its state
    runbook: str = ""

    @property
    def title(self) -> str:
        """The first line of the text."""
        return self.text.partition("\n")[0]


def lines(title: str, **parts: str) -> str:
    """Return a text: the title, and a line ``name: value`` for each part that is not empty."""
    shown = [f"{name.replace('_', ' ')}: {value}" for name, value in parts.items() if value]
    return "\n".join([title, *shown])


def since(at_ms: int, now_ms: int) -> str:
    """Return a moment, and how long ago it was."""
    seconds = max(0, now_ms - at_ms) // 1000
    ago = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
    return f"{format_moment(at_ms)} UTC ({ago} ago)"


def some(names: tuple[str, ...]) -> str:
    """Return the first few of these, and how many more there are."""
    more = [f"and {len(names) - _SHOWN} more"] if names[_SHOWN:] else []
    return ", ".join([*names[:_SHOWN], *more])
