"""Specs and plans are equal after a round trip through JSON."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import timedelta

from replication.copier.spec import UnitSpec
from replication.model import Choice, PartitionPlan, TopicPartition
from replication.settings.copy_settings import CopySettings
from replication.settings.state_policies import Policies
from spark_jobs.source import unit_json

COPYING = CopySettings(
    units=3,
    buffer_bytes=1 << 20,
    epoch=timedelta(seconds=7),
    anchor_every=timedelta(milliseconds=250),
    start="1700000000000",
    start_offsets={"orders": {0: 5, 11: 9}},
    bytes_per_second=99,
    priority_topics=("a.*", "b"),
    delivery="append",
    isolation="read_uncommitted",
    client_rack="r1",
)
SPEC = UnitSpec(
    flow="A->B",
    source_alias="A",
    target_alias="B",
    unit=2,
    generation=3,
    epoch=4,
    partitions=(),
    source={"bootstrap.servers": "a:1"},
    target={"bootstrap.servers": "b:1"},
    copying=COPYING,
    policies=Policies(refused="skip", dead_letters=True),
    target_is_replicated=True,
    grace_s=3.0,
)


def test_a_spec_comes_back_with_all_its_settings():
    default = CopySettings()
    assert all(getattr(COPYING, e.name) != getattr(default, e.name) for e in fields(COPYING))
    assert unit_json.spec_of(unit_json.spec_text(SPEC)) == SPEC


def test_the_seconds_of_a_unit_are_those_of_its_settings():
    assert (SPEC.epoch_s, SPEC.anchor_every_s) == (7.0, 0.25)


def test_plans_come_back_from_a_table_that_names_their_fields_once():
    one = PartitionPlan(TopicPartition("orders", 0), TopicPartition("A.orders", 0), "aa", "bb")
    two = replace(
        one,
        created_later=True,
        since_ms=1_700_000_000_000,
        first=True,
        start=12,
        decision=Choice("LOST_RANGE", 4, "continue"),
    )
    table = json.loads(json.dumps(unit_json.partition_table([one, two])))
    assert table["fields"] == [each.name for each in fields(PartitionPlan)]
    assert unit_json.partitions_of(table) == [one, two]


def test_there_is_no_plan_in_what_is_no_table():
    assert unit_json.partitions_of({"number": 0}) == []
