"""The tables of states in docs/alerts.md: where each state of flows and partitions shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_PAGE = Path(__file__).parents[3] / "docs" / "alerts.md"
_ROW = re.compile(r"\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")


class Row(NamedTuple):
    """What the page says of a state."""

    state: str
    when: str
    metric: str
    check: str
    alert: str

    @property
    def is_told(self) -> bool:
        """Whether somebody is alerted of it within half a minute."""
        return self.alert.startswith(("at once", "after 20 s"))

    @property
    def passes(self) -> bool:
        return self.check.startswith("passes")


def of_flows() -> dict[str, Row]:
    return _table("state of a flow")


def of_partitions() -> dict[str, Row]:
    return _table("state of a partition")


def _table(head: str) -> dict[str, Row]:
    text = _PAGE.read_text().split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    rows = [Row(*(each.strip() for each in found)) for found in _ROW.findall(text)]
    assert len(rows) == text.count("\n| `"), "a row has another number of cells"
    return {each.state: each for each in rows}
