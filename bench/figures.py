"""Computes medians and ratios, and formats them as a table and a line of JSON. Pure."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Figures = dict[str, float]
MM2_SUFFIX = "_mm2"
_SUFFIXES = {"isthmus": "", "mm2": MM2_SUFFIX}
_SETTLED = 0.95
_WORDS = {True: "met", False: "missed", None: ""}


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the table. ``bound`` is the least ratio to MM2's figure, or the figure's limit."""

    key: str
    label: str
    digits: int
    more_is_better: bool = False
    bound: float | None = None  # None: shown, not judged
    alone: bool = False  # the figure itself is judged, not its ratio to MM2's


MEASURES = (
    Measure("rps_1k", "records/s, 1 KB", 0, more_is_better=True, bound=2.5),
    Measure("mbs_1k", "MB/s, 1 KB", 1, more_is_better=True),
    Measure("cpu_us_1k", "CPU µs a record, 1 KB", 3, bound=10),
    Measure("relay_times", "CPU in times the bare relay's", 2, bound=3, alone=True),
    Measure(
        "wire_gb_cpu_s", "GB on the wire a CPU second", 2, more_is_better=True, bound=1, alone=True
    ),
    Measure("rps_100", "records/s, 100 B", 0, more_is_better=True),
    Measure("mbs_100", "MB/s, 100 B", 1, more_is_better=True),
    Measure("cpu_us_100", "CPU µs a record, 100 B", 3, bound=50),
    Measure("p50_ms", "latency p50, ms, 1,000 records/s", 1, bound=2),
    Measure("p99_ms", "latency p99, ms, 1,000 records/s", 1, bound=1),
    Measure("max_ms", "latency at most, ms", 1),
    Measure("live_cpu_pct", "CPU at 1,000 records/s, % of a core", 2, bound=1),
    Measure("idle_cpu_pct", "CPU when idle, % of a core", 2, bound=1),
    Measure("rss_mb", "resident memory, MB", 0, bound=1),
    Measure("takeover_s", "takeover after SIGKILL, s", 2, bound=1, alone=True),
    Measure(
        "takeover_mbs", "MB/s when it was killed", 0, more_is_better=True, bound=100, alone=True
    ),
    Measure("far_rps", "records/s of a partition, 100 ms away", 0, more_is_better=True, bound=3),
    Measure("far_cpu_us", "CPU µs a record, 100 ms away", 2),
)


@dataclass(frozen=True, slots=True)
class TimedCopy:
    """One timed copy of a topic."""

    records: int
    size: int  # bytes of a value
    seconds: float
    cpu_s: float

    def figures(self, name: str) -> Figures:
        """Return its figures under the name of its record size."""
        return {
            f"rps_{name}": self.records / self.seconds,
            f"mbs_{name}": self.records * self.size / self.seconds / 1e6,
            f"cpu_us_{name}": self.cpu_s / self.records * 1e6,
        }


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the smallest value that at least ``percent`` of all do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(0, int(rank) - 1)]


def medians(rounds: Mapping[str, Sequence[Figures]]) -> Figures:
    """Return each figure's median over the rounds; MM2's keys end in ``_mm2``."""
    return {
        key + _SUFFIXES.get(tool, ""): statistics.median(each[key] for each in taken if key in each)
        for tool, taken in rounds.items()
        for key in dict.fromkeys(key for each in taken for key in each)
    }


def ratio(measure: Measure, result: Figures) -> float | None:
    """Return how many times better Isthmus is; None where one of the two has no figure."""
    ours, theirs = result.get(measure.key), result.get(measure.key + MM2_SUFFIX)
    if not ours or not theirs:
        return None
    return ours / theirs if measure.more_is_better else theirs / ours


def has_settled(costs: Sequence[float]) -> bool:
    """Return whether the last of several equal copies cost about as much as the one before."""
    return len(costs) > 1 and costs[-1] > _SETTLED * costs[-2]


def derived(result: Figures) -> Figures:
    """Return ``result`` with the figures that follow from others."""
    found = dict(result)
    cost, relay = result.get("cpu_us_1k"), result.get("cpu_us_1k_relay")
    if cost and relay:
        found["relay_times"] = cost / relay
    if cost and "wire_bytes_1k" in result:
        found["wire_gb_cpu_s"] = result["wire_bytes_1k"] / cost / 1e3
    return found


def verdict(measure: Measure, result: Figures) -> tuple[str, bool | None]:
    """Return the target in words, and whether it was met; None: not to be judged."""
    if measure.bound is None:
        return "", None
    if not measure.alone:
        better = ratio(measure, result)
        return f"{measure.bound:g} times MM2", None if better is None else better >= measure.bound
    found, word = result.get(measure.key), "at least" if measure.more_is_better else "at most"
    if found is None:
        return f"{word} {measure.bound:g}", None
    met = found >= measure.bound if measure.more_is_better else found <= measure.bound
    return f"{word} {measure.bound:g}", met


def rows(result: Figures) -> list[tuple[str, ...]]:
    """Return the table: measure, Isthmus, MM2, how many times better, the target, met or not."""
    return [
        (
            measure.label,
            _shown(result.get(measure.key), measure.digits),
            _shown(result.get(measure.key + MM2_SUFFIX), measure.digits),
            _shown(ratio(measure, result), 2),
            target,
            _WORDS[met],
        )
        for measure in MEASURES
        for target, met in [verdict(measure, result)]
        if measure.key in result or measure.key + MM2_SUFFIX in result
    ]


def as_json(result: Figures) -> str:
    """Return the figures as one line that programs can read."""
    digits = {measure.key: measure.digits for measure in MEASURES}
    return json.dumps(
        {
            key: round(value, digits.get(key.removesuffix(MM2_SUFFIX), 3))
            for key, value in result.items()
        }
    )


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
