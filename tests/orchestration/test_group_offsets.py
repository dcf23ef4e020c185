"""Group offsets as Dagster shows them."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pydantic
import pytest

from orchestration.group_offsets import build_group_definitions, freshness, offsets_key
from orchestration.resources import Plant
from replication.config.model import Flow, FlowClients, GroupSettings
from replication.errors import ClusterUnavailable
from replication.group_round import Moved, Round
from replication.groups import CommitGroup, Committed, LeaveGroup
from replication.model import TopicPartition
from replication.offsets import Answer
from replication.state import DutyReport

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
FLOW = Flow(source="A", target="B", clients=CLIENTS, groups=GroupSettings(sync=True))
COPY = TopicPartition("A.t", 0)
MOVED = Moved("g", TopicPartition("t", 0), Committed(4), COPY, Answer(7))
ROUND = Round(
    (MOVED,), (CommitGroup("g", {COPY: Committed(7)}), LeaveGroup("h", "it has live members"))
)


class Here(Plant):
    """A plant that finds what the test says."""

    refused: dict[str, str] = pydantic.Field(default_factory=dict)
    silent: bool = False

    def sync_groups(self, name):
        if self.silent:
            raise ClusterUnavailable("B gave no answer")
        return ROUND, self.refused


def materialize(**plant):
    (asset,) = build_group_definitions(FLOW).assets
    there = Here(config_path="", home_path="", **plant)
    stream = dg.AssetSpec(["replication", "A_to_B", "stream"])
    return dg.materialize([stream, asset], resources={"plant": there}, raise_on_error=False)


def test_a_round_shows_its_plan_and_its_outcome():
    done = materialize(refused={"g": "it has live members there"})
    (event,) = done.asset_materializations_for_node("replication__A_to_B__group_offsets")
    told = {key: each.value for key, each in event.metadata.items()}
    assert event.asset_key == offsets_key("A->B")
    assert told["plan"] == (
        "- set group g to A.t-0 offset 7\n- leave group h as it is: it has live members"
    )
    assert (told["groups"], told["moved"]) == (1, 0)
    assert told["refused"] == "- g: it has live members there"


def test_a_round_that_fails_says_why_in_one_line():
    assert not materialize(silent=True).success


def test_a_flow_that_syncs_no_groups_has_no_such_asset():
    off = FLOW.model_copy(update={"groups": GroupSettings()})
    assert not build_group_definitions(off).assets


@pytest.mark.parametrize(
    ("age_s", "ok", "fresh"),
    [(5, True, True), (44, True, True), (46, True, False), (5, False, False)],
)
def test_the_check_tells_a_round_of_late_from_an_old_or_failed_one(age_s, ok, fresh):
    report = DutyReport("A->B", "group offsets", 1000, ok, "3 groups")
    passed, reason = freshness(report, FLOW, 1000 + age_s * 1000)
    assert (passed, reason) == (fresh, f"{age_s} s ago: 3 groups")
    assert FLOW.groups.every == timedelta(seconds=5)


def test_a_driver_that_never_did_it_is_not_fresh():
    assert freshness(None, FLOW, 0) == (False, "the driver has not carried groups over yet")
