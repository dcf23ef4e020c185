"""Dagster's own configuration, as we ship it, in a home that is empty or was damaged."""

import dagster as dg
import pytest
import yaml

from orchestration.dagster import jobs, task_assets
from orchestration.services.home import Home
from orchestration.services.instance import write_instance


@pytest.fixture
def where(tmp_path) -> Home:
    return Home(tmp_path)


def shipped(where: Home) -> dict:
    write_instance(where, 4000)
    return yaml.safe_load((where.dagster / "dagster.yaml").read_text())


@dg.op
def says(context):
    context.log.info("something")


@dg.job(executor_def=dg.in_process_executor)
def first():
    says()


@pytest.mark.integration
def test_bl_136_the_first_run_on_an_empty_home_ends_and_no_logger_is_captured(where):
    assert "python_logs" not in shipped(where)
    with dg.DagsterInstance.from_config(str(where.dagster)) as instance:
        assert first.execute_in_process(instance=instance).success


def test_bl_134_bl_135_runs_end_in_bounded_time_and_leave_their_place(where):
    monitoring = shipped(where)["run_monitoring"]
    assert monitoring["enabled"]
    assert max(monitoring[f"{each}_timeout_seconds"] for each in ("start", "cancel")) <= 180
    assert monitoring["poll_interval_seconds"] <= 30


def test_bl_137_runs_have_a_limit_of_their_own_and_none_is_set_for_all(where):
    assert "max_runtime_seconds" not in shipped(where)["run_monitoring"]
    assert {each.tags["dagster/max_runtime"] for each in jobs.ALL} == {"180"}
    assert task_assets.RUN_TAGS is jobs.RUN_TAGS


@pytest.mark.parametrize(("found", "kept"), [("", False), ("telemetry: {}\n", True)])
def test_bl_125_a_file_that_a_power_cut_emptied_is_written_again(where, found, kept):
    where.dagster.mkdir(parents=True)
    (where.dagster / "dagster.yaml").write_text(found)
    assert ("run_monitoring" not in shipped(where)) is kept
