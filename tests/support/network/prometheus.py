"""Scrapes a metrics endpoint as Prometheus does."""

from __future__ import annotations

import re
import urllib.request

_LINE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Scrape(dict[tuple[str, frozenset[tuple[str, str]]], float]):
    """Samples by name and labels."""

    def of(self, name: str, **labels: str) -> float | None:
        """Return the sum of the samples that have these labels; None: there is none."""
        expected = labels.items()
        found = [v for (each, given), v in self.items() if each == name and expected <= given]
        return sum(found) if found else None


def scrape(address: str) -> Scrape:
    with urllib.request.urlopen(address, timeout=15) as answer:  # noqa: S310 -- http only
        lines = answer.read().decode().splitlines()
    return Scrape(
        {
            (found[1], frozenset(_LABEL.findall(found[2] or ""))): float(found[3])
            for line in lines
            if (found := _LINE.fullmatch(line))
        }
    )
