"""``isthmus topology`` draws files without asking a cluster."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import typer
from typer.testing import CliRunner

from orchestration.cli.topology import topology
from orchestration.drawing.svg import place
from replication.topology import Edge

INPUTS = Path(__file__).parents[1] / "inputs"
MESH = """\
clusters = east, west, hub
east.bootstrap.servers = e:9092
west.bootstrap.servers = w:9092
hub.bootstrap.servers = h:9092
east->west.enabled = true
west->east.enabled = true
east->hub.enabled = true
west->hub.enabled = true
replication.policy.class = IdentityReplicationPolicy
topics = orders, pay.<2>*
"""
app = typer.Typer()
app.command()(topology)


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "mesh.properties"
    path.write_text(MESH)
    return path


def run(*arguments) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_text_shows_flows_merges_and_circles(mesh):
    shown = run(mesh)
    for part in (
        "orders, pay.<2>*",
        "orders on hub ◀─ east, west",
        "topics of the same name on hub ◀─ east, west",
        "east → west → east: topic names are kept; copies are not replicated back",
    ):
        assert part in shown


def test_other_programs_get_the_same(mesh):
    data = json.loads(run(mesh, "-o", "json"))
    assert data["circles"] == [["east", "west", "east"]]
    assert data["flows"][0]["topics"][0]["target"] == "orders"
    assert data["merges"][-1] == {"target": "hub", "topic": "orders", "sources": ["east", "west"]}


def test_mermaid_gets_ids_and_labels_that_it_can_read(mesh):
    lines = run(mesh, "-o", "mermaid").splitlines()
    assert lines[0] == "flowchart LR"
    assert '  c0 -.->|"pay.#60;2#62;*<br/>t → t"| c1' in lines
    assert '    c2t6f7264657273["orders"]' in lines
    assert "  c0t6f7264657273 --> c2t6f7264657273" in lines


@pytest.mark.parametrize("name", ["active-active", "merge-minimal", "merge-full", "rename"])
def test_every_file_of_operators_is_drawn(name):
    root = ET.fromstring(run(INPUTS / f"{name}.properties", "-o", "svg"))  # noqa: S314 -- our own
    shapes = [each.tag.rpartition("}")[2] for each in root]
    flows = json.loads(run(INPUTS / f"{name}.properties", "-o", "json"))["flows"]
    assert shapes.count("path") == len(flows)


def edges(*pairs):
    return [Edge(f"{a}->{b}", a, b, (), "", circles=False) for a, b in pairs]


def test_sources_stand_left_of_their_targets():
    places = place(["hub", "a", "b", "far"], edges(("a", "hub"), ("b", "hub"), ("hub", "far")),
                   in_circle=False)  # fmt: skip
    assert places["a"].x == places["b"].x < places["hub"].x < places["far"].x


@pytest.mark.parametrize("pairs", [[("a", "b"), ("b", "a")], [("a", "b"), ("b", "c"), ("c", "a")]])
def test_clusters_in_a_circle_stand_apart(pairs):
    names = sorted({name for pair in pairs for name in pair})
    places = place(names, edges(*pairs), in_circle=False)
    assert len({(round(each.x), round(each.y)) for each in places.values()}) == len(names)
