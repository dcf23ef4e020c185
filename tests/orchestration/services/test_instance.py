"""Dagster's own configuration, as we ship it, in a home that is empty or was damaged."""

import logging
import time
from datetime import timedelta

import dagster as dg
import pytest
import yaml
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.monitoring import run_monitoring
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config, a_flow

from orchestration.dagster import jobs
from orchestration.dagster.background_tasks.task_assets import FlowTask, TaskRunReport
from orchestration.dagster.background_tasks.task_schedules import build_task
from orchestration.services import instance as module
from orchestration.services.instance import POSTGRES_VARIABLE, postgres_url, write_instance
from orchestration.services.state_directory import StateDirectory
from replication.errors import EnvironmentProblem


@pytest.fixture
def where(tmp_path) -> StateDirectory:
    return StateDirectory(tmp_path)


def shipped(where: StateDirectory) -> dict:
    write_instance(where, 4000)
    return yaml.safe_load((where.dagster / "dagster.yaml").read_text())


@dg.op
def says(context):
    context.log.info("something")


@dg.job(executor_def=dg.in_process_executor)
def first():
    says()


def started(instance: dg.DagsterInstance, job: dg.JobDefinition) -> str:
    """Return the id of a run that has begun now and of which nothing more is heard."""
    run = create_run_for_test(
        instance, job.name, tags=job.run_tags, status=dg.DagsterRunStatus.STARTING
    )
    begun = DagsterEvent(DagsterEventType.PIPELINE_START.value, job.name)
    instance.report_dagster_event(begun, run.run_id)
    return run.run_id


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


@pytest.mark.parametrize(("age_s", "ends"), [(170, False), (190, True)])
def test_bl_137_runs_have_a_limit_of_their_own_and_none_is_set_for_all(
    where, monkeypatch, age_s, ends
):
    task = FlowTask(
        "topics", "creates topics", timedelta(minutes=1), lambda *_: TaskRunReport("done")
    )
    of_a_task = dg.Definitions.merge(
        build_task(a_flow(), task),
        dg.Definitions(resources={"isthmus": FakeIsthmus.of(World(a_config()))}),
    ).resolve_job_def("topics_A_to_B")
    ours = [*jobs.ALL, of_a_task]
    with dg.DagsterInstance.ephemeral(settings=shipped(where)) as instance:
        runs = [started(instance, each) for each in (*ours, first)]
        monkeypatch.setattr(run_monitoring, "get_current_timestamp", lambda: time.time() + age_s)
        for each in runs:
            run_monitoring.check_run_timeout(
                instance,
                instance.get_run_record_by_id(each),
                logging.getLogger("dagster"),
                instance.run_monitoring_max_runtime_seconds,
            )
        statuses = [instance.get_run_by_id(each).status for each in runs]
    ended = dg.DagsterRunStatus.FAILURE if ends else dg.DagsterRunStatus.STARTED
    # The last one is nobody's of ours: other jobs of the instance have no limit.
    assert statuses == [*[ended] * len(ours), dg.DagsterRunStatus.STARTED]


@pytest.mark.parametrize(("found", "kept"), [("", False), ("telemetry: {}\n", True)])
def test_bl_125_a_file_that_a_power_cut_emptied_is_written_again(where, found, kept):
    where.dagster.mkdir(parents=True)
    (where.dagster / "dagster.yaml").write_text(found)
    assert ("run_monitoring" not in shipped(where)) is kept


URL = "postgresql://dagster:secret@db/dagster"


def test_the_address_of_postgres_is_read_from_the_environment_and_in_no_file(where, monkeypatch):
    monkeypatch.setenv(POSTGRES_VARIABLE, URL)
    assert shipped(where)["storage"] == {"postgres": {"postgres_url": {"env": POSTGRES_VARIABLE}}}
    assert postgres_url() == "postgresql+psycopg2://dagster:secret@db/dagster"
    assert "secret" not in (where.dagster / "dagster.yaml").read_text()


def test_history_in_another_place_than_the_environment_says_is_refused(where, monkeypatch):
    shipped(where)
    monkeypatch.setenv(POSTGRES_VARIABLE, URL)
    with pytest.raises(EnvironmentProblem, match="does not use ISTHMUS_POSTGRES_URL, which is set"):
        write_instance(where, 4000)
    (where.dagster / "dagster.yaml").unlink()
    write_instance(where, 4000)
    monkeypatch.delenv(POSTGRES_VARIABLE)
    with pytest.raises(EnvironmentProblem, match="ISTHMUS_POSTGRES_URL is not set"):
        write_instance(where, 4000)


def test_postgres_without_its_package_names_what_to_install(where, monkeypatch):
    monkeypatch.setenv(POSTGRES_VARIABLE, URL)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'isthmus\[postgres\]'"):
        write_instance(where, 4000)
