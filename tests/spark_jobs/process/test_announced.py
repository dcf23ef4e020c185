"""A driver logs warnings and effective patterns once a start, again only when they changed."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from support.settings.configs import a_config

from spark_jobs import replicate
from spark_jobs.process import announced
from spark_jobs.process.appdir import AppDir

WARNING = "f.properties:5: topics: the properties format removes the backslash from \\d → \\\\d"


@pytest.fixture
def directory(tmp_path) -> AppDir:
    found = AppDir.of(tmp_path, "B")
    found.root.mkdir(parents=True)
    return found


def logged(directory, *warnings):
    config = a_config().model_copy(update={"warnings": warnings})
    with capture_logs() as logs:
        announced.announce(config, config.flows, directory)
    return [(each["log_level"], each["event"]) for each in logs]


def watched(directory, pid):
    directory.watch.write_text(json.dumps({"pid": pid, "started_ms": 5, "restarts": pid}))


def test_a_restarted_driver_says_nothing_again(directory):
    watched(directory, 1)
    (first, patterns) = logged(directory, WARNING)
    assert first == ("warning", WARNING)
    assert patterns[0] == "info"
    assert patterns[1].startswith("A->B: topics = ")
    assert logged(directory, WARNING) == []


def test_it_says_so_again_when_the_file_changed(directory):
    logged(directory, WARNING)
    assert [each for each, _ in logged(directory)] == ["info"]
    assert [each for each, _ in logged(directory, WARNING, "other")] == ["warning"] * 2 + ["info"]


def test_another_start_says_it_again(directory):
    watched(directory, 1)
    first = logged(directory, WARNING)
    watched(directory, 2)
    assert logged(directory, WARNING) == first


def test_the_driver_announces_before_it_starts_spark(tmp_path, monkeypatch):
    class Started(Exception):
        pass

    def launch(*_: object) -> None:
        raise Started

    monkeypatch.setattr(replicate, "launch", launch)
    config = a_config().model_copy(update={"warnings": (WARNING,)})
    reading, directory = SimpleNamespace(config=config), AppDir.of(tmp_path, "B")
    with capture_logs() as logs, pytest.raises(Started):
        replicate._drive(None, reading, config.flows, directory)
    assert WARNING in [each["event"] for each in logs]
