"""Schedules of drills and verifications: off by default, and as the file says."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.spark_in_run import lazy_spark
from orchestration.dagster.jobs import prune_history
from orchestration.dagster.resources import Isthmus, without_config
from orchestration.dagster.schedules import build_schedules
from orchestration.flows.kafka_clients import read_config
from replication.errors import ConfigError

FILE = (
    "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\n"
    "A->B.enabled = true\nB->A.enabled = true\n"
)


def defined(tmp_path, lines):
    """Return the one schedule that the lines of a file ask for, the jobs, and the repository."""
    file = tmp_path / "mm2.properties"
    file.write_text(FILE + lines)
    jobs = flow_jobs(["A->B", "B->A"])
    schedules = build_schedules(read_config(file), jobs)
    prune, asked = schedules
    assert prune.name == "prune_daily"
    whole = dg.Definitions(
        jobs=[*jobs.values(), prune_history],
        schedules=schedules,
        resources={
            "isthmus": without_config(Isthmus(str(file), str(tmp_path))),
            "isthmus_spark": lazy_spark(),
        },
    )
    return asked, jobs, whole.get_repository_def()


def test_drills_have_a_schedule_where_the_file_sets_one_and_its_run_would_be_accepted(tmp_path):
    drills, jobs, repository = defined(tmp_path, "A->B.drill.schedule = 30 3 * * sun\n")
    assert drills.name == "drill_A_to_B"
    assert drills.cron_schedule == "30 3 * * sun"
    assert drills.default_status is dg.DefaultScheduleStatus.RUNNING
    with dg.build_schedule_context(repository_def=repository) as context:
        (request,) = drills.evaluate_tick(context).run_requests
    assert request.partition_key == "A->B"
    assert dg.validate_run_config(jobs["drill"], request.run_config)
    assert request.run_config["ops"]["practise"]["config"] == {"action": "CARRY_OUT"}


def test_a_wrong_cron_line_is_named_with_its_place(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(FILE + "drill.schedule = 30 25 * * *\n")
    with pytest.raises(
        ConfigError, match=r"mm2.properties:6: drill.schedule: '25' is not a valid hour"
    ):
        read_config(file)


def test_verifications_have_a_schedule_which_waits_until_the_run_before_has_ended(
    tmp_path, local_instance
):
    verifications, _, repository = defined(tmp_path, "A->B.verify.schedule = 37 2 * * *\n")
    assert verifications.name == "verify_A_to_B"
    assert verifications.cron_schedule == "37 2 * * *"
    assert verifications.default_status is dg.DefaultScheduleStatus.RUNNING

    def tick():
        context = dg.build_schedule_context(instance=local_instance, repository_def=repository)
        with context:
            return verifications.evaluate_tick(context)

    (request,) = tick().run_requests
    assert request.partition_key == "A->B"
    other = {"dagster/partition": "B->A"}
    create_run_for_test(
        local_instance, job_name="verify", tags=other, status=dg.DagsterRunStatus.STARTED
    )
    assert tick().run_requests
    create_run_for_test(
        local_instance,
        job_name="verify",
        tags=dict(request.tags),
        status=dg.DagsterRunStatus.STARTED,
    )
    held = tick()
    assert not held.run_requests
    assert held.skip_message == "the previous verification of A->B has not ended yet"


def test_a_batch_flow_has_the_schedule_that_the_file_sets_and_a_stream_has_none(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(FILE + "A->B.mode = batch\nbatch.schedule = 0 */6 * * *\n")
    config = read_config(file)
    (warning,) = [each for each in config.warnings if "batch.schedule" in each]
    assert "has no effect on B->A, which is a stream" in warning
    jobs = flow_jobs(["A->B", "B->A"], ["A->B"])
    schedules = build_schedules(config, jobs)
    assert [each.name for each in schedules] == ["prune_daily", "batch_A_to_B"]
    assert schedules[1].cron_schedule == "0 */6 * * *"
    assert jobs["batch"].partitions_def.get_partition_keys() == ["A->B"]
    assert "batch" not in flow_jobs(["A->B", "B->A"])
