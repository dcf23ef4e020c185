"""BL-223: an admin client whose address leads to another cluster than before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.client.cluster_ids import FlowClusters
from replication.errors import WrongCluster

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
KNOWN = FlowClusters("A->B", "id-a", "id-b")


@pytest.fixture
def admin(monkeypatch) -> KafkaAdmin:
    """Return a client of the source; ``admin.heard`` are the ids that it hears, one a question."""
    made = KafkaAdmin(NOWHERE, verify=KNOWN.verify_source)
    made.heard = ["id-a"]
    monkeypatch.setattr(made, "cluster_id", lambda: made.heard.pop(0))
    return made


def test_an_answer_is_used_only_if_the_right_cluster_answers_after_it(admin):
    admin.heard = ["id-b", "id-a"]
    with pytest.raises(WrongCluster, match="which is B"), admin._doing("reading"):
        pass
    with admin._doing("reading"):
        pass
    assert admin.heard == []


def test_a_change_is_sent_only_if_the_right_cluster_answers_before_it(admin):
    admin.heard = ["id-b", "id-a"]
    sent = []
    with pytest.raises(WrongCluster, match="which is B"), admin._doing("altering", changes=True):
        sent.append("to B")
    with admin._doing("altering", changes=True):
        sent.append("to A")
    assert sent == ["to A"]


def test_a_client_that_knows_no_cluster_asks_nothing_more():
    admin = KafkaAdmin(NOWHERE)
    admin.require_same()
    with admin._doing("reading"):
        pass


def test_a_client_that_reached_another_cluster_is_made_anew(monkeypatch):
    """It has learned that cluster's brokers, and would ask them for ever."""
    admin, heard = KafkaAdmin(NOWHERE, verify=KNOWN.verify_source), ["id-a", "id-b"]
    monkeypatch.setattr(admin, "_cluster", lambda _: SimpleNamespace(cluster_id=heard.pop(0)))
    admin._clients._client = held = object()
    assert admin.cluster_id() == "id-a"
    assert admin._clients._client is held
    assert admin.cluster_id() == "id-b"
    assert admin._clients._client is None
