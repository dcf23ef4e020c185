"""``isthmus pause`` while the file that flows run by is broken."""

from __future__ import annotations

import pytest
from support.fakes.fake_flows import World
from support.settings.config_files import TWO
from typer.testing import CliRunner

from orchestration.cli.flows import intents
from orchestration.cli.main import app
from replication.adapters.followed_file import FollowedFile
from replication.model import Desired
from replication.state import Intent


@pytest.fixture
def world(monkeypatch, tmp_path):
    """A world that the command asks instead of clusters, and its file, which ran before."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    file = tmp_path / "f.properties"
    file.write_text(TWO)
    found = World(FollowedFile(file, tmp_path / "home").look().config)
    monkeypatch.setattr(intents, "KafkaClusters", lambda: found)
    monkeypatch.setattr(intents, "reachable_flows", lambda config, *_, **__: (config.flows, {}))
    return found, file


def test_a_flow_is_paused_by_the_settings_in_force_and_the_broken_line_is_named(world):
    found, file = world
    file.write_text(f"{TWO}lag.sla.secnds = 5\n")
    result = CliRunner().invoke(app, ["pause", str(file), "--all"])
    assert result.exit_code == 0, result.output
    assert "A->B will pause" in result.output
    assert "f.properties:5: lag.sla.secnds" in result.output
    (intent,) = [
        e
        for e in found.target.topics["isthmus-status.A.internal"].values()
        if isinstance(e, Intent)
    ]
    assert intent.desired == Desired.PAUSE


def test_a_file_that_nothing_ran_by_is_refused(world, tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "other"))
    _, file = world
    file.write_text(f"{TWO}lag.sla.secnds = 5\n")
    result = CliRunner().invoke(app, ["pause", str(file), "--all"])
    assert "lag.sla.secnds" in str(result.exception)


def test_a_silent_cluster_keeps_no_other_flow_from_its_stop(world, monkeypatch):
    found, file = world
    silent = {"A->C": "cluster C does not answer: refused"}
    monkeypatch.setattr(intents, "reachable_flows", lambda config, *_, **__: (config.flows, silent))
    result = CliRunner().invoke(app, ["stop", str(file), "--all"])
    assert result.exit_code == 1
    assert "A->B will stop within seconds" in result.output
    assert str(result.exception) == "A->C: cluster C does not answer: refused"
    (intent,) = (
        each
        for each in found.target.topics["isthmus-status.A.internal"].values()
        if isinstance(each, Intent)
    )
    assert intent.desired == Desired.STOP
