"""What Dagster is told of topics, named topics and tasks, tick by tick, with a real instance."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config, a_flow

from orchestration.dagster.assets import topic_key, topics_key
from orchestration.dagster.background_tasks.task_assets import task_key
from orchestration.dagster.observations import topic_events
from orchestration.dagster.sensors import supervisor
from replication.clock import now_ms
from replication.model import PartitionState, TopicPartition
from replication.settings.mm2_settings import GroupSettings
from replication.state import Anchor, Intent, TaskReport, anchors_topic, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = topics_key("A->B")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture
def world() -> World:
    found = World(a_config())
    found.watched = found.driven = {"B"}
    found.copy(records=10, end=10)
    return found


class Ticks:
    """The supervisor's ticks; what it returns is stored as the daemon does."""

    def __init__(self, world: World, instance: dg.DagsterInstance) -> None:
        self.world, self.instance, self.cursor = world, instance, None

    def __call__(self) -> list:
        resources = {"isthmus": FakeIsthmus.of(self.world)}
        with dg.build_sensor_context(
            instance=self.instance, resources=resources, cursor=self.cursor
        ) as context:
            result = supervisor(context)
        for each in result.dynamic_partitions_requests or []:
            name, keys = each.partitions_def_name, each.partition_keys
            if isinstance(each, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(name, keys)
            else:
                for key in keys:
                    self.instance.delete_dynamic_partition(name, key)
        for each in result.asset_events:
            self.instance.report_runless_asset_event(each)
        self.cursor = result.cursor
        return result.asset_events

    def about(self, key: dg.AssetKey) -> list[tuple[str, str | None]]:
        """Return kind and partition of the events of a tick about one asset."""
        return [(type(e).__name__, e.partition) for e in self() if e.asset_key == key]

    @property
    def partitions(self) -> set[str]:
        return set(self.instance.get_dynamic_partitions("topics_A_to_B"))


@pytest.fixture
def ticks(world, instance) -> Ticks:
    return Ticks(world, instance)


def copies(world: World, *names: str, state: str = "RUNNING", reason: str = "") -> None:
    for each in names:
        world.target.write(
            anchors_topic("A"),
            Anchor("A->B", each, 0, f"A.{each}", 5, 5, records=5, state=str(state), reason=reason,
                   at_ms=now_ms()),
        )  # fmt: skip
        world.origin.ends[TopicPartition(each, 0)] = 5


def test_each_topic_is_a_partition_and_so_is_one_that_comes_later(world, ticks):
    assert ("AssetMaterialization", "orders") in ticks.about(KEY)
    assert ticks.partitions == {"orders"}
    assert ticks.about(KEY) == []
    copies(world, "stock")
    assert ticks.about(KEY) == [("AssetMaterialization", "stock")]
    assert ticks.partitions == {"orders", "stock"}
    assert ticks.instance.get_materialized_partitions(KEY) == {"orders", "stock"}


def test_a_topic_that_is_not_copied_is_seen_with_its_reason_and_turns_green_when_it_is(
    world, ticks
):
    copies(world, "stock", state=PartitionState.WAITING, reason="the target has no such topic")
    first = [e for e in ticks() if e.asset_key == KEY and e.partition == "stock"]
    assert [type(e).__name__ for e in first] == ["AssetObservation"]
    assert first[0].description == "WAITING: the target has no such topic"
    assert ticks.about(KEY) == []
    copies(world, "stock")
    kinds = [type(e).__name__ for e in ticks() if e.asset_key == KEY]
    assert kinds == ["AssetMaterialization", "AssetCheckEvaluation"]
    copies(world, "stock", state=PartitionState.LOST_RANGE, reason="gone")
    observed, check = [e for e in ticks() if e.asset_key == KEY]
    assert (observed.partition, observed.metadata["state"].value) == ("stock", "LOST_RANGE")
    assert (check.check_name, check.passed) == (topic_events.COPIED_CHECK, False)
    assert check.description == "1 of 2 topics are not copied: LOST_RANGE: stock (gone)"


def test_a_topic_without_anchors_is_no_partition_any_more_but_a_silent_target_removes_none(
    world, ticks
):
    copies(world, "stock")
    ticks()
    world.target.silent = True
    ticks()
    assert ticks.partitions == {"orders", "stock"}
    world.target.silent = False
    del world.target.topics[anchors_topic("A")][Anchor("A->B", "stock", 0, "", 0, 0).key()]
    ticks()
    assert ticks.partitions == {"orders"}


def test_a_thousand_topics_come_in_portions_and_then_cost_nothing(world, ticks, monkeypatch):
    monkeypatch.setattr(topic_events, "EVENTS_MAX", 4)
    copies(world, *(f"t{n}" for n in range(10)))
    counts = [len([e for e in ticks.about(KEY) if e[1]]) for _ in range(5)]
    assert counts == [4, 4, 3, 0, 0]
    assert len(ticks.partitions) == 11
    assert len(ticks.cursor) < 1500


def test_the_figures_of_one_topic_a_minute_are_reported_in_turn(world, ticks, monkeypatch):
    monkeypatch.setattr(topic_events, "REFRESH_MS", 0)
    copies(world, "a", "b")
    ticks()
    found = [[each[1] for each in ticks.about(KEY)] for _ in range(4)]
    assert found == [["a"], ["b"], ["orders"], ["a"]]


def test_a_cursor_of_another_release_is_no_error(ticks):
    ticks()
    stored = json.loads(ticks.cursor)
    stored["observed"]["A->B"] = {"topics": {"unheard": 1}, "tasks": 7}
    ticks.cursor = json.dumps(stored)
    assert ("AssetCheckEvaluation", None) in ticks.about(KEY)  # told once more
    assert ticks.about(KEY) == []


def named(world: World, **limits: timedelta | None) -> dg.AssetKey:
    flow = a_flow().model_copy(update={"lag_sla_topics": limits})
    world.config = a_config(flow)
    return topic_key("B", "A.orders")


def test_a_named_topic_has_figures_and_a_lag_check_with_a_limit_of_its_own(world, ticks):
    key = named(world, orders=timedelta(seconds=5))
    assert [kind for kind, _ in ticks.about(key)] == ["AssetObservation", "AssetCheckEvaluation"]
    assert ticks.about(key) == []
    world.watch = type(world.watch)()
    world.copy(records=10, end=80, age_s=9)
    (late,) = [e for e in ticks() if e.asset_key == key]
    assert (late.check_name, late.passed) == ("lag_sla_A_to_B", False)
    assert late.description.startswith("1 of 1 partitions are more than 5 s behind")
    world.copy(records=80, end=80)
    (well,) = [e for e in ticks() if e.asset_key == key]
    assert well.passed


def test_a_flow_that_is_behind_by_more_records_than_allowed_fails_its_check(world, ticks):
    world.config = a_config(a_flow().model_copy(update={"lag_sla_records": 50}))
    ticks()
    world.copy(records=10, end=80)
    (late,) = [e for e in ticks() if getattr(e, "check_name", "") == "lag_sla"]
    assert late.description == "70 records behind, limit 50; worst: orders-0, 70 records"


def did(world: World, name: str, *, ok: bool = True, ago_s: float = 0, summary: str = "") -> None:
    at_ms = now_ms() - int(ago_s * 1000)
    world.target.write(status_topic("A"), TaskReport("A->B", name, at_ms, ok, summary))


def test_what_the_driver_does_materializes_its_asset_at_a_bounded_rate(world, ticks):
    key = task_key("A->B", "checkpoints")
    assert ticks.about(key) == []
    did(world, "checkpoints", ago_s=700)
    assert ticks.about(key) == [("AssetMaterialization", None)]
    did(world, "checkpoints", ago_s=650)
    assert ticks.about(key) == []
    did(world, "checkpoints", summary="3 groups")
    assert ticks.about(key) == [("AssetMaterialization", None)]
    did(world, "checkpoints", ok=False, summary="no leader")
    assert ticks.about(key) == [("AssetObservation", None)]


def test_group_offsets_that_are_not_synced_turn_their_check_red_but_not_while_paused(world, ticks):
    world.config = a_config(a_flow().model_copy(update={"groups": GroupSettings(sync=True)}))
    world.target.write(status_topic("A"), Intent("A->B", "run", at_ms=1))
    world.copy(records=10, end=10, started_ms=1)

    def check():
        found = [e for e in ticks() if getattr(e, "check_name", "") == "group_offsets_fresh"]
        return [(each.passed, each.description) for each in found]

    def aged() -> tuple[bool, int]:
        """Return the only result, with the age that it names; the tick is a part of that."""
        ((passed, description),) = check()
        found = re.fullmatch(r"(\d+) s ago: 2 groups", description)
        assert found, description
        return passed, int(found[1])

    did(world, "group offsets", summary="2 groups")
    passed, age_s = aged()
    assert passed
    assert 0 <= age_s < 60
    did(world, "group offsets", ago_s=300, summary="2 groups")
    passed, age_s = aged()
    assert not passed
    assert 300 <= age_s < 360
    world.target.write(status_topic("A"), Intent("A->B", "pause"))
    assert check() == [(True, "the flow is paused or stopped")]


def checks(ticks: Ticks) -> list[tuple[bool, str | None]]:
    found = (each for each in ticks() if isinstance(each, dg.AssetCheckEvaluation))
    return [(e.passed, e.description) for e in found if e.check_name == topic_events.COPIED_CHECK]


def test_a_check_that_fails_names_each_topic_that_comes_to_it_and_goes(world, ticks):
    copies(world, "stock", state=PartitionState.REFUSED, reason="too large")
    ticks()
    copies(world, "carts", state=PartitionState.TARGET_RESET, reason="recreated")
    reported = "REFUSED: stock (too large); TARGET_RESET: carts (recreated)"
    assert checks(ticks) == [(False, f"2 of 3 topics are not copied: {reported}")]
    assert checks(ticks) == []
    copies(world, "stock")
    reported = "TARGET_RESET: carts (recreated)"
    assert checks(ticks) == [(False, f"1 of 3 topics are not copied: {reported}")]


def test_a_pause_is_told_by_the_check_and_not_of_each_topic(world, ticks):
    ticks()
    world.copy(records=10, end=10, state="PAUSED")
    world.target.write(status_topic("A"), Intent("A->B", "pause", "ann", now_ms()))
    assert ticks.about(KEY) == [("AssetCheckEvaluation", None)]
    assert ticks.about(KEY) == []
    world.target.write(status_topic("A"), Intent("A->B", "run", "ann", now_ms()))
    world.copy(records=10, end=10)
    assert checks(ticks) == [(True, "1 topics are copied")]


def test_a_topic_that_nobody_wants_any_more_fails_no_check(world, ticks):
    copies(world, "stock", state=PartitionState.NOT_SELECTED)
    assert checks(ticks) == [(True, "1 topics are copied; NOT_SELECTED: stock")]
    copies(world, "carts", state=PartitionState.REFUSED, reason="too large")
    reported = "REFUSED: carts (too large); need no action: NOT_SELECTED: stock"
    assert checks(ticks) == [(False, f"1 of 3 topics are not copied: {reported}")]
