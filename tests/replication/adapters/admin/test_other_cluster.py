"""BL-223: an admin client whose address leads to another cluster than before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from replication.adapters.admin.checked_client import CheckedClient
from replication.client.cluster_ids import FlowClusters
from replication.errors import WrongCluster

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
KNOWN = FlowClusters("A->B", "id-a", "id-b")


@pytest.fixture
def admin(monkeypatch) -> CheckedClient:
    """Return a client of the source; ``admin.cluster_ids`` are its answers."""
    made = CheckedClient(NOWHERE, 1.0, KNOWN.verify_source, reads_any=False)
    made.cluster_ids = ["id-a"]
    monkeypatch.setattr(made, "cluster_id", lambda: made.cluster_ids.pop(0))
    return made


def test_an_answer_is_used_only_if_the_right_cluster_answers_after_it(admin):
    admin.cluster_ids = ["id-b", "id-a"]
    with pytest.raises(WrongCluster, match="which is B"), admin.doing("reading"):
        pass
    with admin.doing("reading"):
        pass
    assert admin.cluster_ids == []


def test_a_change_is_sent_only_if_the_right_cluster_answers_before_it(admin):
    admin.cluster_ids = ["id-b", "id-a"]
    sent = []
    with pytest.raises(WrongCluster, match="which is B"), admin.doing("altering", changes=True):
        sent.append("to B")
    with admin.doing("altering", changes=True):
        sent.append("to A")
    assert sent == ["to A"]


def test_a_client_that_knows_no_cluster_asks_nothing_more():
    admin = CheckedClient(NOWHERE, 1.0, None, reads_any=False)
    admin.require_same()
    with admin.doing("reading"):
        pass


def test_a_client_that_reached_another_cluster_is_made_anew(monkeypatch):
    """It has learned that cluster's brokers, and would ask them for ever."""
    admin, cluster_ids = (
        CheckedClient(NOWHERE, 1.0, KNOWN.verify_source, reads_any=False),
        ["id-a", "id-b"],
    )
    monkeypatch.setattr(admin, "cluster", lambda _: SimpleNamespace(cluster_id=cluster_ids.pop(0)))
    admin._clients._client = held = object()
    assert admin.cluster_id() == "id-a"
    assert admin._clients._client is held
    assert admin.cluster_id() == "id-b"
    assert admin._clients._client is None
