"""What a bounded job writes where, whatever prints in its process and in those that it starts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

JOB = """
import subprocess, sys
import structlog
from replication.errors import ReplicationError
from spark_jobs.process.job_process import job_process

def carry_out(request):
    structlog.get_logger().warning("variables of this machine are not used")
    subprocess.run(["echo", "a function printed this"])
    if request["fails"]:
        raise ReplicationError("the cluster did not answer")
    print('{"result": 1}', flush=True)

sys.exit(job_process(carry_out))
"""


@pytest.mark.parametrize("fails", [False, True])
def test_only_results_are_on_standard_output_and_the_last_line_says_what_failed(tmp_path, fails):
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"fails": fails}))
    command = [sys.executable, "-c", JOB, str(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ("" if fails else '{"result": 1}\n')
    assert done.returncode == fails
    *before, last = done.stderr.splitlines()
    assert last == "the cluster did not answer" if fails else not before[1:]
    assert "variables of this machine are not used" in before[0]
    assert "a function printed this" in done.stderr
