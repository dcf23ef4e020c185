"""A drill's file has the clients of the flow, and names and topics of its own."""

from __future__ import annotations

import pytest

from replication.config.drill_file import drill_file
from replication.config.load import load_config
from replication.state.drill_names import DrillNames

NAMES = DrillNames("A", "B")
FILE = r"""
clusters = A, B, C
A.bootstrap.servers = a:1
A.security.protocol = SASL_PLAINTEXT
A.sasl.mechanism = PLAIN
A.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="u" password="${file:secrets.properties:a}";
config.providers = file
config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider
B.bootstrap.servers = "b:1" # the other one
C.bootstrap.servers = c:1
A->B.enabled = true
A->B.topics = orders.*
A->B.topic.creation.enable = false
A->B.copy.epoch.seconds = 7
A->B.sync.group.offsets.enabled = true
A->B.topics.rename.regex = (.+)
A->B.topics.rename.replacement = x-$1
A->C.enabled = true
tasks.max = 3
emit.heartbeats.enabled = true
drill.schedule = 0 3 * * sun
metrics.port = 9400
"""


@pytest.fixture
def drilled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secrets.properties").write_text("a = s3cret\n")
    file, folder = tmp_path / "mm2.properties", tmp_path / "elsewhere"
    file.write_text(FILE)
    folder.mkdir()
    text = drill_file(load_config(file).config, NAMES)
    assert "s3cret" not in text
    (folder / "drill.properties").write_text(text)
    return load_config(folder / "drill.properties").config


def test_it_has_a_flow_in_each_direction_for_the_canary_topic_alone(drilled):
    assert [each.name for each in drilled.flows] == [NAMES.flow, NAMES.back]
    for each in drilled.flows:
        assert each.selection.topics == (NAMES.topic.replace(".", "[.]"),)
        assert each.naming.kind == "identity"
        assert each.creation.enabled
        assert not each.mm2.heartbeats.enabled
        assert not each.mm2.checkpoints.enabled
        assert not each.acls.enabled
        assert not each.drill_schedule
    assert set(drilled.clusters) == {NAMES.source_alias, NAMES.target_alias}
    assert drilled.metrics.port is None


def test_it_copies_with_the_settings_of_the_flow(drilled):
    out = drilled.flow(NAMES.flow)
    assert out.copying.units == 3
    assert out.copying.epoch.total_seconds() == 7
    assert all(each.groups.sync for each in drilled.flows)


def test_its_clients_are_those_of_the_clusters(drilled, tmp_path):
    out = drilled.flow(NAMES.flow)
    assert out.clients.target_producer["bootstrap.servers"] == "b:1"
    login = out.clients.source_consumer
    assert login["security.protocol"] == "SASL_PLAINTEXT"
    assert f"${{file:{tmp_path}/secrets.properties:a}}" in login["sasl.jaas.config"]
