"""Shows a drill's report as a page that needs no other file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from orchestration.drill.drill_report import step_rows
from replication.durations import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestration.drill.drill_report import DrillReport

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; color: #1d2733 }
h1 { font-size: 1.4rem } .good { color: #14783c } .bad { color: #b3261e }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
th, td { border-bottom: 1px solid #d5dbe1; padding: .35rem .6rem; text-align: left;
  vertical-align: top }
.figures { display: flex; gap: 2rem; flex-wrap: wrap } .figures b { display: block;
  font-size: 1.6rem }
"""


def html_page(report: DrillReport) -> str:
    """Return the page, in HTML."""
    word, kind = ("good", "good") if report.good else ("not good", "bad")
    title = f"Drill of {report.flow}"
    operation = report.operation
    when = f"{format_moment(operation.started_ms)} UTC, by {operation.by}" if operation else ""
    steps = step_rows(operation) if operation else []
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f'<h1>{escape(title)}: <span class="{kind}">{word}</span></h1>',
            f"<p>{escape(when)}, operation {escape(report.id)}</p>",
            _figures(report),
            *(f'<p class="bad">{escape(each)}</p>' for each in report.problems),
            _table(("cluster", "records"), _verdicts(report)),
            _table(("step", "ended (UTC)", "took", "what it did"), steps),
            "</body></html>\n",
        ]
    )


def _figures(report: DrillReport) -> str:
    shown = [
        ("RTO", _seconds(report.rto_s)),
        ("RPO", "-" if report.rpo_records is None else f"{report.rpo_records} records"),
        ("RPO, age of the oldest", _seconds(report.rpo_s)),
        ("failback", _seconds(report.failback_s)),
        ("diverged tail", "-" if report.tail_records is None else f"{report.tail_records} records"),
    ]
    cells = "".join(f"<div>{escape(name)}<b>{escape(value)}</b></div>" for name, value in shown)
    return f'<div class="figures">{cells}</div>'


def _verdicts(report: DrillReport) -> list[tuple[str, str]]:
    pairs = (("source", report.source), ("target", report.target))
    return [(name, str(each)) for name, each in pairs if each is not None]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(each)}</{tag}>' for each in cells)}</tr>"

    return f"<table>{row(head, 'th')}{''.join(row(each, 'td') for each in rows)}</table>"
