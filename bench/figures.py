"""From measurements to medians, ratios, a table and one line of JSON. Pure."""

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


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the table: a figure that both tools have."""

    key: str
    label: str
    digits: int
    more_is_better: bool = False


MEASURES = (
    Measure("rps_1k", "records/s, 1 KB", 0, more_is_better=True),
    Measure("mbs_1k", "MB/s, 1 KB", 1, more_is_better=True),
    Measure("cpu_us_1k", "CPU µs a record, 1 KB", 3),
    Measure("rps_100", "records/s, 100 B", 0, more_is_better=True),
    Measure("mbs_100", "MB/s, 100 B", 1, more_is_better=True),
    Measure("cpu_us_100", "CPU µs a record, 100 B", 3),
    Measure("p50_ms", "latency p50, ms, 1,000 records/s", 1),
    Measure("p99_ms", "latency p99, ms, 1,000 records/s", 1),
    Measure("rss_mb", "resident memory, MB", 0),
    Measure("idle_cpu_pct", "CPU when idle, % of a core", 2),
)


@dataclass(frozen=True, slots=True)
class Copy:
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


def rows(result: Figures) -> list[tuple[str, str, str, str]]:
    """Return the table: measure, Isthmus, MM2, how many times better."""
    return [
        (
            measure.label,
            _shown(result.get(measure.key), measure.digits),
            _shown(result.get(measure.key + MM2_SUFFIX), measure.digits),
            _shown(ratio(measure, result), 2),
        )
        for measure in MEASURES
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
