"""``isthmus run`` shows a file's warnings and the effective patterns before it starts anything."""

from __future__ import annotations

import pytest
from rich.console import Console
from support.settings.config_files import TWO, written

from orchestration.cli.local import run


class Reached(Exception):
    """What would start is reached."""


def test_run_shows_each_warning_with_its_line_and_the_effective_patterns(tmp_path, monkeypatch):
    path = written(
        tmp_path, TWO + "topics = evt\\d+,[a]\nB.producer.acks = 1\nalert.urls = jsn://x\n"
    )
    screen = Console(width=1000, record=True, quiet=False)

    def java() -> None:
        raise Reached

    monkeypatch.setattr(run, "console", lambda: screen)
    monkeypatch.setattr(run, "java", java)
    with pytest.raises(Reached):
        run.run(path)
    shown = screen.export_text()
    assert f"warning {path}:5: topics: the properties format removes the backslash" in shown
    assert f"warning {path}:6: B.producer.acks: has no effect" in shown
    assert f"warning {path}:7: alert.urls: URL 1 of 1 begins with jsn://" in shown
    assert "A->B: topics = evtd+, [a]; topics.exclude = " in shown
    assert shown.count("has no effect") == 1
