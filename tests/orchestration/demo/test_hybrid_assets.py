"""Lineage over several flows, to what operators define themselves: the hybrid example's."""

from __future__ import annotations

import dagster as dg
import pytest

from orchestration.dagster.assets import stream_key
from orchestration.dagster.lineage import build_assets
from orchestration.definitions import loaded
from orchestration.demo.scenarios import scenario
from replication.config.load import load_config
from replication.errors import ConfigError
from replication.transforms.topic_transforms import TopicTransforms

CLUSTERS = ("berlin", "lisbon", "central", "analytics")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "demo.properties"
    lines = [f"{name}.bootstrap.servers = {name}:1" for name in CLUSTERS]
    path.write_text(scenario("hybrid").config(lines))
    return load_config(path).config


def test_the_way_of_the_orders_goes_from_the_regions_to_the_files(config):
    own = [loaded(each) for each in config.dagster.definitions]
    graph = dg.Definitions.merge(build_assets(config), *own).resolve_asset_graph()
    key = dg.AssetKey(["files", "orders"])
    seen = set()
    ahead = {key}
    while ahead:
        seen |= ahead
        ahead = {up for each in ahead for up in graph.get(each).parent_keys} - seen
    assert dg.AssetKey(["kafka", "berlin"]) in seen
    assert dg.AssetKey(["kafka", "lisbon"]) in seen
    assert {stream_key("berlin->central"), stream_key("central->analytics")} <= seen
    ways = [dg.AssetKey(["kafka", each, "topics", "orders"]) for each in CLUSTERS]
    assert set(ways) <= seen


def test_the_example_transforms_what_goes_to_analytics_alone(config):
    rules = TopicTransforms(config.flow("central->analytics").transforms)
    assert rules.of("orders").value_schema.text.startswith("order STRING")
    assert rules.of("smoke-b").select.text == "concat(cast('enriched ' AS BINARY), value) AS value"
    assert rules.of("payments") is None
    assert config.flow("berlin->central").transforms == ()


def test_a_module_that_cannot_be_loaded_is_named():
    with pytest.raises(ConfigError, match=r"dagster\.definitions: nobody\.knows cannot be loaded"):
        loaded("nobody.knows")
    with pytest.raises(ConfigError, match=r"json has no dagster\.Definitions"):
        loaded("json")
