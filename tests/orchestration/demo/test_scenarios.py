"""Scenarios of demo and smoke: valid files, and the copies that must exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.demo.event_producer import Load, origin_of
from orchestration.demo.scenarios import SCENARIOS, ExpectedCopy, scenario
from orchestration.demo.smoke_verdict import verdict
from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from replication.config.load import load_config
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.comparison_result import Fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.demo.scenarios import Scenario

ONE_WAY = [each for each in SCENARIOS.values() if not each.circles]


@pytest.mark.parametrize("played", ONE_WAY, ids=lambda each: each.name)
def test_the_file_of_a_scenario_has_its_flows(played: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "demo.properties"
    servers = enumerate(played.clusters, start=9000)
    file.write_text(played.config(f"{n}.bootstrap.servers = localhost:{p}\n" for p, n in servers))
    flows = load_config(file).config.flows
    assert [(each.source, each.target) for each in flows] == list(played.links)
    assert {each.naming.kind for each in flows} == {"identity" if played.keeps_names else "prefix"}


@pytest.mark.parametrize(
    ("name", "copies"),
    [
        ("copy", [ExpectedCopy("primary", "backup")]),
        ("merge", [ExpectedCopy(each, "central") for each in ("berlin", "lisbon", "oslo")]),
        ("active-active", [ExpectedCopy("east", "west"), ExpectedCopy("west", "east")]),
    ],
)
def test_each_record_must_come_to_every_cluster_that_a_flow_leads_to(
    name: str, copies: list[ExpectedCopy]
) -> None:
    assert list(scenario(name).copies()) == copies


@pytest.mark.parametrize("name", ["mesh", "ring"])
def test_in_mesh_and_ring_every_record_comes_to_the_two_other_clusters(name: str) -> None:
    played = scenario(name)
    assert len(list(played.copies())) == 6
    assert played.circles


def test_an_unknown_scenario_is_reported_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="no scenario 'mash'; near: mesh"):
        scenario("mash")


def test_every_record_of_a_load_tells_where_it_was_born() -> None:
    events = list(Load(("a", "b"), 2, 100, 7, "oslo").events())
    assert {origin_of(each.key, each.headers) for each, _ in events} == {"oslo"}
    assert len({(each.topic, place, each.key, each.headers) for each, place in events}) == 100
    assert {(each.topic, place) for each, place in events} == {
        (topic, place) for topic in "ab" for place in (0, 1)
    }


def test_the_verdict_names_what_came_home_and_what_was_never_there() -> None:
    at = TopicPartition("t", 0)
    sides = [Fingerprint(n, n) for n in range(5)], [Fingerprint(n, n) for n in (0, 1, 1, 3, 4)]
    found = verdict(
        [PartitionResult(Work(at, at, 5, 5, 5), compare(*sides))], {"east": 2, "west": -1}
    )
    assert found._asdict() == {
        "records": 5, "lost": 1, "repeated": 1, "different": 0, "copied_back": 2, "missing": 1,
    }  # fmt: skip
    assert not found.right
