"""A drill's report: when it is good, and what its page shows."""

from __future__ import annotations

from dataclasses import replace

from orchestration.drill.drill_report import DrillReport
from orchestration.drill.html_page import html_page
from replication.recovery.canaries import CanaryVerdict
from replication.state import Operation

DONE = (("clear", 2_000, "deleted 0 topics"), ("fail over", 11_900, "RTO <9.9> s"))
OPERATION = Operation(
    "x", "op1", "drill", "done", done=DONE, by="ada@one", started_ms=1_000, beat_ms=12_000
)
GOOD = DrillReport(
    "A->B", "op1", 200, rto_s=9.9, rpo_records=2, rpo_s=0.01, failback_s=30.0, tail_records=201,
    source=CanaryVerdict(1700), target=CanaryVerdict(1700), operation=OPERATION,
)  # fmt: skip


def test_a_drill_that_ended_and_found_nothing_wrong_is_good():
    assert GOOD.good
    assert "RPO 2 records, the oldest 0.010 s old, at 200 records a second" in GOOD.lines()
    assert not replace(GOOD, problems=("x",)).good
    assert not replace(GOOD, target=None).good


def test_what_is_kept_says_whether_it_was_good_and_why_not():
    kept = replace(GOOD, problems=("first", "second"), files=("a.html", "a.json")).record()
    assert (kept.good, kept.problem, kept.report) == (False, "first", "a.html")
    assert (kept.rto_s, kept.rpo_records, kept.ended_ms) == (9.9, 2, 12_000)


def test_the_page_shows_figures_steps_and_problems_and_needs_no_other_file():
    page = html_page(replace(GOOD, problems=("group <x> skips 3 records",)))
    for text in ("not good", "9.9 s", "2 records", "group &lt;x&gt; skips", "RTO &lt;9.9&gt; s"):
        assert text in page
    assert not any(each in page for each in ("http", "<script", "src=", "<link"))
