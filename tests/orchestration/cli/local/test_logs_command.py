"""The command ``logs``: which lines of which logs are shown, and what comes later."""

from __future__ import annotations

import pytest
from support.flows.command import runner

from orchestration.cli.local.logs import Log

FILE = """
clusters = A, B, C
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
C.bootstrap.servers = 127.0.0.1:3
A->B.enabled = true
C->B.enabled = true
A->C.enabled = true
"""


@pytest.fixture
def isthmus(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path))
    return runner(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.properties"
    path.write_text(FILE)
    return path


def written(folder, app, *lines):
    (folder / "apps" / app).mkdir(parents=True)
    (folder / "apps" / app / "driver.log").write_text("".join(f"{each}\n" for each in lines))


def test_the_last_lines_of_each_driver_are_shown_with_its_name(isthmus, file, tmp_path):
    written(tmp_path, "B", "one", "two", "three")
    written(tmp_path, "C", "four")
    assert isthmus("logs", file, "-n", "2").out == "B: two\nB: three\nC: four\n"


def test_lines_about_other_flows_of_the_same_driver_are_left_out(isthmus, file, tmp_path):
    written(tmp_path, "B", "driver started", "plan written flow=C->B", "plan written flow=A->B")
    assert isthmus("logs", file, "--flow", "A:B").out == "driver started\nplan written flow=A->B\n"


@pytest.mark.parametrize(
    "line",
    [
        "epoch ended flow=northwest->hub records=5",
        '{"flow": "northwest->hub", "event": "epoch ended"}',
        "northwest->hub waits for west->hub",
        "epoch ended flow=west->hub.eu records=5",
        "epoch ended flow=north.west->hub",
        "driver started",
    ],
)
def test_a_flow_whose_name_is_within_that_of_another_one_takes_no_line_from_it(tmp_path, line):
    path = tmp_path / "driver.log"
    path.write_text(f"{line}\nplan written flow=west->hub\nwest->hub.\n{{'flow': 'west->hub'}}\n")
    assert Log("hub", path, ("west->hub",), ("northwest->hub",)).last(9) == [line]


def test_no_log_here_is_said(isthmus, file, tmp_path):
    done = isthmus("logs", file)
    assert (done.code, done.err.startswith(f"no log in {tmp_path}: ")) == (1, True)


def test_whole_lines_that_are_appended_are_read_once_and_a_shorter_log_from_its_begin(tmp_path):
    path = tmp_path / "driver.log"
    log = Log("B", path)
    assert list(log.new()) == []
    path.write_text("one\ntw")
    assert list(log.new()) == ["one"]
    path.write_text("one\ntwo\n")
    assert list(log.new()) == ["two"]
    path.write_text("new\n")
    assert list(log.new()) == ["new"]
