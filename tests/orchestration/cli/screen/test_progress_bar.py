"""When a progress bar is shown, and what it shows."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from orchestration.cli.screen import progress_bar as module
from orchestration.cli.screen.progress_bar import ProgressBar


def shown(*, late_s: float, terminal: bool = True, total: int = 4, monkeypatch) -> str:
    """Return what a screen got while three of ``total`` were done, for some time."""
    monkeypatch.setattr(module, "LATE_S", late_s)
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    with ProgressBar("changing B", total, screen) as bar:
        for _ in range(3):
            bar.advance()
        deadline = time.monotonic() + 10
        while late_s == 0 and terminal and "changing" not in screen.file.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    return screen.file.getvalue()


def test_work_that_takes_long_shows_how_much_of_it_is_done(monkeypatch):
    text = shown(late_s=0, monkeypatch=monkeypatch)
    assert "changing B" in text
    assert "3/4" in text


def test_where_the_amount_is_not_known_none_is_shown(monkeypatch):
    assert "/" not in shown(late_s=0, total=0, monkeypatch=monkeypatch)


@pytest.mark.parametrize(("late_s", "terminal"), [(60, True), (0, False)])
def test_work_that_is_short_and_a_pipe_see_no_bar(monkeypatch, late_s, terminal):
    assert shown(late_s=late_s, terminal=terminal, monkeypatch=monkeypatch) == ""
