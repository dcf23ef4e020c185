"""``isthmus topology`` draws files without asking a cluster."""

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from orchestration.cli.configuration.topology import topology

INPUTS = Path(__file__).parents[3] / "inputs"
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
    chart = run(INPUTS / f"{name}.properties", "-o", "mermaid")
    data = json.loads(run(INPUTS / f"{name}.properties", "-o", "json"))
    pairs = set(re.findall(r"^  (c\d+)(?:t\w+)? -\.?->(?:\|.*\|)? (c\d+)", chart, re.MULTILINE))
    ids = {alias: f"c{number}" for number, alias in enumerate(data["clusters"])}
    assert pairs == {(ids[each["source"]], ids[each["target"]]) for each in data["flows"]}


def test_an_output_that_is_gone_is_refused_with_those_that_there_are(mesh):
    result = CliRunner().invoke(app, [str(mesh), "-o", "svg"])
    assert result.exit_code == 2
    assert "'svg' is not one of 'text', 'mermaid', 'json'" in " ".join(
        result.output.replace("│", " ").split()
    )
