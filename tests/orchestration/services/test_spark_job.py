"""A job in a process of its own: what it is asked, what it tells, and why it failed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psutil
import pytest

from orchestration.services.spark_job import run_job
from replication.errors import ReplicationError

ECHO = """
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
print(json.dumps({"request": json.loads(file.read_text()), "mode": file.stat().st_mode & 0o777}))
print(json.dumps({"file": str(file)}))
"""
FAILS = "import sys; print('as far as it came'); sys.exit('\\n'.join(['Traceback', 'A is silent']))"
SILENT = "import sys; sys.exit(3)"
CHATTY = "import sys; sys.stderr.write('x' * (1 << 20)); print('done')"  # more than a pipe holds
HANGS = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a function that makes a module with a text, and runs it as a job."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def run(text: str, reported, failed: str = "", **request: object) -> None:
        (tmp_path / "a_job.py").write_text(text)
        run_job("a_job", request, reported, failed)

    return run


def test_a_job_gets_its_request_in_a_file_that_others_cannot_read(job):
    reported: list[str] = []
    job(ECHO, reported.append, flow="A->B", topics=["a", "b"])
    first, second = map(json.loads, reported)
    assert first == {"request": {"flow": "A->B", "topics": ["a", "b"]}, "mode": 0o600}
    assert not Path(second["file"]).exists(), "it is removed when the job has ended"


@pytest.mark.parametrize(
    ("text", "reason"),
    [(FAILS, "A is silent"), (SILENT, "the Spark job ended with exit code 3 and no error message")],
)
def test_why_a_job_failed_is_the_last_line_of_its_errors(job, text, reason):
    with pytest.raises(ReplicationError) as failed:
        job(text, lambda _: None)
    assert str(failed.value) == reason
    with pytest.raises(ReplicationError) as failed:
        job(text, lambda _: None, "orders was not exported")
    assert str(failed.value) == f"orders was not exported: {reason}"


def test_a_job_that_tells_many_errors_and_succeeds_does_not_hang(job):
    reported: list[str] = []
    job(CHATTY, reported.append)
    assert reported == ["done\n"]


def test_an_interrupted_command_ends_its_job(job):
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    since = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        job(HANGS, interrupt)
    assert time.monotonic() - since < 30
    assert not psutil.pid_exists(pids[0])
