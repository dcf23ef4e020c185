"""A driver's log as JSON: one object a line, whoever writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spark_jobs.process.log_format import VARIABLE, jvm_pattern, watcher_line

CODE = """
import logging, structlog
from spark_jobs.process.logs import configure_logs
configure_logs()
log = structlog.get_logger()
log.warning("halted", flow="A->B", topic="orders", partition=3, reason='it is "odd"\\nso')
def connect(password):
    raise ValueError("cannot connect")
try: connect("hunter" + str(2))
except ValueError: log.exception("unit failed", flow="A->B")
logging.getLogger("py4j").error("the JVM\\nis gone")
"""


@pytest.fixture
def lines() -> list[dict]:
    environment = {**os.environ, VARIABLE: "json"}
    ran = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment
    )
    assert "hunter2" not in ran.stderr
    return [json.loads(line) for line in ran.stderr.splitlines()]


def test_each_line_is_an_object_with_the_fields_of_its_event(lines):
    halted, failed, gone = lines
    assert halted.pop("timestamp").endswith("Z")
    assert halted == {
        "process": "driver",
        "level": "warning",
        "event": "halted",
        "flow": "A->B",
        "topic": "orders",
        "partition": 3,
        "reason": 'it is "odd"\nso',
    }
    assert failed["flow"] == "A->B"
    assert failed["exception"].endswith("ValueError: cannot connect")
    assert (gone["logger"], gone["level"], gone["event"]) == ("py4j", "error", "the JVM\nis gone")


def test_the_watcher_writes_the_same_fields(monkeypatch):
    monkeypatch.setenv(VARIABLE, "JSON")
    line = json.loads(watcher_line('driver ended with "1"'))
    assert line.keys() == {"timestamp", "level", "process", "event"}
    assert (line["process"], line["event"]) == ("watcher", 'driver ended with "1"')


@pytest.mark.parametrize("chosen", ["", "text", "xml"])
def test_without_json_it_is_text(monkeypatch, chosen):
    monkeypatch.setenv(VARIABLE, chosen)
    assert watcher_line("driver ended").endswith(" [watch] driver ended")
    assert jvm_pattern().startswith("%d{yyyy-MM-dd")
