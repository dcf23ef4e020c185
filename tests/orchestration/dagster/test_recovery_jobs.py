"""Dagster jobs of a failover and of desired states: what they cannot do is a reason."""

from __future__ import annotations

import pytest

from orchestration.dagster import jobs
from orchestration.dagster.resources import IsthmusResource

FILE = (
    "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
)


@pytest.mark.parametrize(
    ("job", "op"), [(jobs.failover, "fail_over"), (jobs.resume_flow, "write_run")]
)
@pytest.mark.parametrize(
    ("text", "reason"), [(FILE, "no flow 'A->C'"), ("clusters = A\nA->", "mm2.properties")]
)
def test_an_unknown_flow_and_a_broken_file_are_failures_with_a_reason(
    tmp_path, text, reason, job, op
):
    file = tmp_path / "mm2.properties"
    file.write_text(text)
    isthmus = IsthmusResource(config_path=str(file), home_path=str(tmp_path))
    run = job.execute_in_process(
        run_config={"ops": {op: {"config": {"flow": "A->C"}}}},
        resources={"isthmus": isthmus},
        raise_on_error=False,
    )
    (failed,) = [each for each in run.all_events if each.is_step_failure]
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    assert reason in failure.description
