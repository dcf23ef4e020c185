"""The job that verifies a flow: what it asks for, what it tells, and in which session it runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import dagster_pyspark.resources as pyspark_resources
import pytest
from dagster_pyspark import LazyPySparkResource
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs import verify_job
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.spark_in_run import SparkInRun, lazy_spark
from orchestration.dagster.jobs import prune_history
from orchestration.dagster.resources import without_config
from orchestration.services.state_directory import StateDirectory
from orchestration.verification.outcome import (
    PartitionOutcome,
    RecordDifference,
    Speed,
    VerificationOutcome,
)
from replication.errors import ClusterUnavailable
from replication.records.batch_comparison import OffsetPair
from spark_jobs.verification import verification_job

JOB = flow_jobs(["A->B"])["verify"]
SPEED = Speed(2_000_000_000, 60.0, 1, 9.0)


def partition(number: int, **more) -> PartitionOutcome:
    found = {"ranges": 1, "records": 5}
    return PartitionOutcome(
        f"t-{number}", f"A.t-{number}", OffsetPair(3, 2), OffsetPair(9, 8), **{**found, **more}
    )


def outcome(*partitions: PartitionOutcome, **more) -> VerificationOutcome:
    return VerificationOutcome("A->B", 1_700_000_000_000, partitions, SPEED, **more)


class Verifications:
    """What took the place of FlowVerification: it notes what was asked, and returns ``found``."""

    def __init__(self) -> None:
        self.found = outcome(partition(0))
        self.asked: list = []

    def __call__(self, *asked) -> Verifications:
        self.asked = [*asked]
        return self

    def run(self) -> VerificationOutcome:
        self.asked[6]("comparing", 1, 2)
        return self.found


@pytest.fixture
def verifications(monkeypatch) -> Verifications:
    found = Verifications()
    monkeypatch.setattr(verify_job, "FlowVerification", found)
    monkeypatch.setattr(
        verify_job, "answering_flows", lambda config, names: tuple(map(config.flow, names))
    )
    return found


@pytest.fixture
def world(tmp_path) -> World:
    found = World(a_config())
    found.state_directory = StateDirectory(tmp_path)
    return found


def run(world: World, **config):
    return JOB.execute_in_process(
        run_config={"ops": {"compare_ranges": {"config": config}}} if config else None,
        partition_key="A->B",
        resources={
            "isthmus": FakeIsthmus.of(world),
            "isthmus_spark": LazyPySparkResource(spark_config={}),
        },
        raise_on_error=False,
    )


def observed(ended) -> dict[str, dg.MetadataValue]:
    (found,) = [
        each.asset_observation_data.asset_observation
        for each in ended.all_events
        if each.event_type_value == "ASSET_OBSERVATION"
    ]
    assert found.asset_key == stream_key("A->B")
    return dict(found.metadata)


def test_without_any_input_it_verifies_all_topics_since_the_last_good_run(verifications, world):
    ended = run(world)
    assert ended.success
    flow, config, topics, selected, runner, _, _, all_topics = verifications.asked
    assert (flow.name, config, topics.pattern, all_topics) == ("A->B", world.config, ".*", True)
    assert (selected.full, selected.is_partial) == (False, False)
    assert isinstance(runner, SparkInRun)


def test_a_choice_of_topics_and_ranges_is_passed_on(verifications, world):
    assert run(world, topics="orders.*", full=True, sample=0.5).success
    _, _, topics, selected, _, _, _, all_topics = verifications.asked
    assert (topics.pattern, selected.full, selected.sample) == ("orders.*", True, 0.5)
    assert not all_topics


@pytest.mark.usefixtures("verifications")
def test_it_tells_counts_how_far_all_is_equal_and_where_the_report_is(world, tmp_path):
    found = observed(run(world))
    assert found["result"].value == "equal"
    assert (found["records"].value, found["differences"].value) == (5, 0)
    assert found["lost"].value == found["different value"].value == 0
    assert found["GB per minute and core"].value == 2.0
    (row,) = found["verified up to"].records
    assert (row.data["partition"], row.data["source offset"]) == ("t-0", "9")
    assert (row.data["on target"], row.data["target offset"]) == ("A.t-0", "8")
    page, reported = found["report (html)"].path, found["report (json)"].path
    assert sorted(map(str, (tmp_path / "reports").iterdir())) == sorted([page, reported])


def test_a_difference_fails_the_run_with_its_offsets_and_the_same_figures(verifications, world):
    verifications.found = outcome(
        partition(0),
        partition(
            1, counts={"lost": 2}, examples=[RecordDifference(("lost",), 7, None)], continues=True
        ),
        partition(2, ranges=0, records=0, not_verified="created again"),
    )
    ended = run(world)
    (failed,) = [each for each in ended.all_events if each.is_step_failure]
    why = failed.step_failure_data.user_failure_data
    assert why.description.startswith("A->B: different: 10 records equal, 2 lost")
    assert "t-1 -> A.t-1: 2 lost: source offset 7" in why.description
    found = observed(ended)
    assert dict(why.metadata) == found
    assert (found["lost"].value, found["differences"].value) == (2, 2)
    rows = [each.data for each in found["verified up to"].records]
    # The one that differs keeps the position of the run before; of the third none is known.
    assert [(e["partition"], e["source offset"]) for e in rows] == [
        ("t-1", "3"), ("t-2", ""), ("t-0", "9"),
    ]  # fmt: skip
    assert rows[1]["remark"] == "created again"


def test_a_sample_moves_no_position(verifications, world):
    verifications.found = outcome(partition(0), partition(1, continues=True), partial=True)
    rows = [each.data for each in observed(run(world))["verified up to"].records]
    assert [each["source offset"] for each in rows] == ["", "3"]


def test_what_is_transformed_has_no_target_offset(verifications, world):
    verifications.found = outcome(partition(0, transformed=True))
    (row,) = observed(run(world))["verified up to"].records
    assert (row.data["source offset"], row.data["target offset"]) == ("9", "")


@pytest.mark.parametrize("kind", ["incomplete", "nothing verified"])
def test_what_could_not_be_told_is_no_success(verifications, world, kind):
    left = partition(0, ranges=0, records=0, not_verified="x", waits=kind != "incomplete")
    verifications.found = outcome(left)
    ended = run(world)
    assert not ended.success
    assert observed(ended)["result"].value == kind


@pytest.mark.usefixtures("verifications")
def test_a_silent_cluster_and_a_broken_pattern_are_one_line(world, monkeypatch):
    def line(**config) -> str:
        ended = run(world, **config)
        (failed,) = [each for each in ended.all_events if each.is_step_failure]
        return failed.step_failure_data.user_failure_data.description

    assert line(topics="(").startswith("topics '(' is not a regular expression:")

    def silent(_config, _names):
        raise ClusterUnavailable("cluster B does not answer: refused")

    monkeypatch.setattr(verify_job, "answering_flows", silent)
    assert line() == "cluster B does not answer: refused"


def test_ranges_are_compared_in_the_session_of_the_resource_after_our_jvm_has_started(monkeypatch):
    happened: list = []

    class Context:
        class _accumulatorServer:  # noqa: N801 - as PySpark calls it
            """Gets a handler of errors."""

    class Session:
        sparkContext = Context()  # noqa: N815 - as above

    class Started:
        def __init__(self, conf):
            happened.append(conf["spark.app.name"])

        def __enter__(self):
            happened.append("JVM")

        def __exit__(self, *_):
            happened.append("end")

    def session(conf):
        happened.append(("session", conf))
        return Session()

    def compared(context, file, flow, ranges, progress):
        happened.append((context, file, flow, ranges))
        progress(1, 2)
        return ["result"]

    monkeypatch.setattr(verification_job, "started_spark", Started)
    monkeypatch.setattr(verification_job, "verify_ranges", compared)
    monkeypatch.setattr(pyspark_resources, "spark_session_from_config", session)
    config = a_config().model_copy(update={"path": "mm2.properties"})
    with dg.build_init_resource_context() as context:
        sessions = lazy_spark().resource_fn(context)
    reported: list = []
    run = SparkInRun(config, sessions)
    assert happened == []
    assert run("A->B", ["range"], lambda *what: reported.append(what)) == ["result"]
    assert happened == [
        "isthmus verify A->B",
        "JVM",
        ("session", {}),
        (Session.sparkContext, str(Path("mm2.properties").absolute()), "A->B", ["range"]),
        "end",
    ]
    assert reported == [("starting Spark", 0, 1), ("comparing", 1, 2)]


def test_the_definitions_take_the_job_with_its_session_and_show_no_setting_of_it(tmp_path):
    whole = dg.Definitions(
        jobs=[*flow_jobs(["A->B"]).values(), prune_history],
        resources={
            "isthmus": without_config(FakeIsthmus("f", str(tmp_path))),
            "isthmus_spark": lazy_spark(),
        },
    )
    job = whole.get_repository_def().get_job("verify")
    assert {"isthmus", "isthmus_spark"} <= job.resource_defs.keys()
    assert dg.validate_run_config(job)
    assert job.tags["dagster/max_runtime"] == str(int(timedelta(days=1).total_seconds()))
