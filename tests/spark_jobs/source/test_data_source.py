"""The planner's side of the source, without Spark."""

from dataclasses import replace

import pytest

from replication.copier.spec import UnitReport, UnitSpec
from replication.model import PartitionPlan, TopicPartition
from replication.settings.copy_settings import CopySettings
from spark_jobs.process.appdir import FlowDir, read_json
from spark_jobs.source.data_source import (
    TEMPLATE,
    EpochSettings,
    IsthmusSource,
    options,
    write_plan,
)
from spark_jobs.source.unit_task import guarded

TEMPLATE_SPEC = UnitSpec(
    flow="A->B",
    source_alias="A",
    target_alias="B",
    unit=0,
    generation=3,
    epoch=0,
    partitions=(),
    source={"bootstrap.servers": "a:1", "sasl.jaas.config": "secret"},
    target={"bootstrap.servers": "b:1"},
)


def plans(*numbers):
    return tuple(
        PartitionPlan(TopicPartition("orders", n), TopicPartition("A.orders", n), "aa", "bb")
        for n in numbers
    )


@pytest.fixture
def directory(tmp_path):
    return FlowDir(tmp_path)


def reader(directory, units=2):
    source = IsthmusSource(options(directory, TEMPLATE_SPEC, units))
    return source.streamReader(None)


def test_an_epoch_has_a_task_for_every_unit_with_all_that_it_needs(directory):
    write_plan(directory, 1, plans(0, 1, 2), run=True)
    planner = reader(directory)
    end = planner.latestOffset()
    tasks = planner.partitions(planner.initialOffset(), end)
    units = {task.spec.unit: task.spec for task in tasks}
    assert sorted(each.source.partition for s in units.values() for each in s.partitions) == [
        0,
        1,
        2,
    ]
    for unit, spec in units.items():
        expected = replace(TEMPLATE_SPEC, unit=unit, epoch=1, partitions=spec.partitions)
        assert spec == expected


def test_the_driver_learns_which_plan_an_epoch_follows(directory):
    planner = reader(directory)
    write_plan(directory, 7, plans(0), run=True)
    planner.partitions({"epoch": 0}, planner.latestOffset())
    assert read_json(directory.epoch) == {"epoch": 1, "plan": 7}
    write_plan(directory, 8, plans(0, 1), run=True)
    planner.partitions({"epoch": 1}, planner.latestOffset())
    assert read_json(directory.epoch) == {"epoch": 2, "plan": 8}


def test_an_epoch_that_is_asked_for_twice_keeps_its_plan(directory):
    """BL-054."""
    planner = reader(directory)
    write_plan(directory, 1, plans(0), run=True)
    end = planner.latestOffset()
    first = planner.partitions({"epoch": 0}, end)
    write_plan(directory, 2, plans(0, 1), run=True)
    assert planner.partitions({"epoch": 0}, end) is first
    assert read_json(directory.epoch) == {"epoch": 1, "plan": 1}


@pytest.mark.parametrize(
    ("partitions", "run"), [((), True), (plans(0), False)], ids=["empty", "ended"]
)
def test_no_epoch_begins_without_partitions_or_when_the_flow_ends(directory, partitions, run):
    planner = reader(directory)
    write_plan(directory, 1, partitions, run=run)
    assert planner.latestOffset() == planner.latestOffset() == {"epoch": 0}


def test_the_epochs_of_a_query_follow_on_those_of_the_one_before(directory):
    source = IsthmusSource(options(directory, replace(TEMPLATE_SPEC, epoch=57), 2))
    write_plan(directory, 1, plans(0), run=True)
    planner = source.streamReader(None)
    assert planner.initialOffset() == {"epoch": 57}
    assert planner.latestOffset() == {"epoch": 58}


def test_no_epoch_begins_before_there_is_a_plan(directory):
    assert reader(directory).latestOffset() == {"epoch": 0}


def test_passwords_travel_under_a_name_that_spark_keeps_out_of_its_logs(directory):
    given = options(directory, TEMPLATE_SPEC, 2)
    assert [key for key, value in given.items() if "secret" in value] == [TEMPLATE]
    assert "secret" in TEMPLATE


def refusing(spec):
    raise ValueError(f"unit {spec.unit} is of no use")


def test_a_unit_that_raises_becomes_a_report():
    report = guarded(replace(TEMPLATE_SPEC, partitions=plans(0, 1)), f"{__name__}:refusing")
    assert report == UnitReport(
        unit=0,
        epoch=0,
        records=0,
        bytes=0,
        cpu_s=report.cpu_s,
        started_ms=report.started_ms,
        ended_ms=report.ended_ms,
        takeovers=0,
        not_running=2,
        outcome="internal error: ValueError: unit 0 is of no use",
    )


def test_edited_settings_are_in_the_next_epoch_and_no_client_is_written(directory):
    planner = reader(directory, units=1)
    edited = replace(TEMPLATE_SPEC, copying=CopySettings(bytes_per_second=7), stamps=True)
    write_plan(directory, 1, plans(0), run=True)
    (before,) = planner.partitions(planner.initialOffset(), planner.latestOffset())
    write_plan(directory, 2, plans(0), run=True, settings=EpochSettings(edited))
    (after,) = planner.partitions({}, planner.latestOffset())
    assert before.spec.copying == TEMPLATE_SPEC.copying
    assert after.spec == replace(edited, epoch=2, partitions=plans(0))
    assert "secret" not in directory.plan.read_text()


@pytest.mark.parametrize(
    ("budget", "limit", "of_a_unit"),
    [(0, 0, 0), (0, 90, 45), (30, 90, 30), (60, 90, 45), (60, 0, 60)],
)
def test_a_limit_of_all_units_is_shared_and_the_lower_one_counts(
    directory, budget, limit, of_a_unit
):
    planner = reader(directory, units=2)
    settings = replace(TEMPLATE_SPEC, copying=CopySettings(bytes_per_second=budget))
    write_plan(directory, 1, plans(0, 1), run=True, settings=EpochSettings(settings, limit))
    tasks = planner.partitions({}, planner.latestOffset())
    assert {each.spec.copying.bytes_per_second for each in tasks} == {of_a_unit}
