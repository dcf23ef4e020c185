"""Dagster jobs about one flow: it is chosen from a list, and what cannot be done is a reason."""

from __future__ import annotations

import dagster as dg
import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.spark_in_run import lazy_spark
from orchestration.dagster.jobs import ALL
from orchestration.dagster.resources import Isthmus, without_config

FILE = (
    "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
)
FLOWS = ("A->B", "A->C")
JOBS = flow_jobs(FLOWS)


def reason_of(run) -> str:
    (failed,) = [each for each in run.all_events if each.is_step_failure]
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    return failure.description


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(
    ("text", "reason"), [(FILE, "no flow 'A->C'"), ("clusters = A\nA->", "mm2.properties")]
)
def test_an_unknown_flow_and_a_broken_file_are_failures_with_a_reason(tmp_path, text, reason, name):
    file = tmp_path / "mm2.properties"
    file.write_text(text)
    isthmus = Isthmus(config_path=str(file), home_path=str(tmp_path))
    run = JOBS[name].execute_in_process(
        partition_key="A->C",
        resources={"isthmus": isthmus, "isthmus_spark": lazy_spark()},
        raise_on_error=False,
    )
    assert reason in reason_of(run)


def test_no_job_needs_any_input_when_the_launchpad_opens_and_none_offers_the_path_of_the_file():
    found = dg.Definitions(
        jobs=[*JOBS.values(), *ALL],
        resources={
            "isthmus": without_config(Isthmus("f.properties", "home")),
            "isthmus_spark": lazy_spark(),
        },
    ).get_repository_def()
    for job in found.get_all_jobs():
        fields = job.run_config_schema.config_type.fields
        assert not [name for name, each in fields.items() if each.is_required], job.name
        for name in ("isthmus", "isthmus_spark"):
            offered = fields["resources"].config_type.fields.get(name)
            if offered is not None:  # prune_history needs no file
                assert not offered.config_type.fields["config"].config_type.fields, job.name


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_flows_of_the_file_are_the_choices(job):
    assert tuple(job.partitions_def.get_partition_keys()) == FLOWS


def test_a_run_without_a_choice_names_the_flows():
    run = JOBS["pause_flow"].execute_in_process(
        resources={"isthmus": FakeIsthmus.of(World(a_config()))}, raise_on_error=False
    )
    assert reason_of(run) == "choose a flow as the partition: A->B"
