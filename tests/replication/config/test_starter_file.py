"""Files that `isthmus init` writes: they are valid, and say what was answered."""

from __future__ import annotations

import itertools

import pytest
from support.settings.config_files import found, loaded

from replication.config.file.findings import Severity
from replication.config.starter_file import StarterAnswers, StarterCluster, starter_text

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def answers(protocol="PLAINTEXT", mechanism="SCRAM-SHA-512", **more):
    ends = (("east", "east-1:9092,east-2:9092"), ("west", "west-1:9092"))
    clusters = [StarterCluster(*each, protocol, mechanism, "mirror") for each in ends]
    return StarterAnswers(*clusters, **more)


@pytest.mark.parametrize(
    ("protocol", "both_ways", "keeps_names"),
    list(itertools.product(PROTOCOLS, (True, False), (True, False))),
)
def test_every_file_is_valid_without_a_warning(
    tmp_path, monkeypatch, protocol, both_ways, keeps_names
):
    monkeypatch.setenv("EAST_PASSWORD", "x")
    monkeypatch.setenv("WEST_PASSWORD", "x")
    text = starter_text(answers(protocol, both_ways=both_ways, keeps_names=keeps_names))
    severe = [each for each in found(tmp_path, text) if each.severity is not Severity.INFO]
    assert [str(each) for each in severe if "plain" not in str(each).lower()] == []


def test_the_file_says_what_was_answered(tmp_path):
    given = answers(topics="orders.*, payments", both_ways=True, replication_factor=3)
    config = loaded(tmp_path, starter_text(given)).config
    assert [each.name for each in config.flows] == ["east->west", "west->east"]
    flow = config.flow("east->west")
    assert flow.selection.topics == ("orders.*", "payments")
    assert flow.naming.kind == "identity"
    assert flow.creation.replication_factor == 3
    assert flow.groups.sync
    assert config.clusters["east"].bootstrap_servers == ("east-1:9092", "east-2:9092")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_stands_in_no_file(tmp_path, monkeypatch, mechanism):
    monkeypatch.setenv("EAST_PASSWORD", "hush")
    monkeypatch.setenv("WEST_PASSWORD", "hush")
    given = answers("SASL_SSL", mechanism)
    assert given.password_variables == ("EAST_PASSWORD", "WEST_PASSWORD")
    text = starter_text(given)
    assert 'username="mirror" password="${env:EAST_PASSWORD}"' in text
    assert loaded(tmp_path, text).config.flows
