"""The group syncs of flows that know of one another."""

from __future__ import annotations

import pytest

from replication.adapters import group_syncs
from replication.adapters.group_syncs import GroupSyncs
from replication.client.cluster_ids import FlowClusters
from replication.config.load import load_config
from replication.errors import ClusterUnavailable

MERGED = """
clusters = A, C, D, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
C.bootstrap.servers = c:9092
D.bootstrap.servers = d:9092
A->B.enabled = true
C->B.enabled = true
D->B.enabled = true
replication.policy.class = IdentityReplicationPolicy
"""


@pytest.fixture
def silent(monkeypatch) -> set[str]:
    """Flows whose state on the target does not answer."""
    names: set[str] = set()

    def stored_clusters(flow) -> FlowClusters:
        if flow.name in names:
            raise ClusterUnavailable(f"reading the state of {flow.name}: it has no leader")
        return FlowClusters(flow.name)

    monkeypatch.setattr(group_syncs, "stored_clusters", stored_clusters)
    return names


@pytest.mark.parametrize("out", ["C->B", "D->B"])
def test_a_sync_whose_sibling_was_not_known_once_has_all_of_them_later(tmp_path, silent, out):
    """Without a sibling it would set groups beyond the records of that sibling's source."""
    (tmp_path / "mm2.properties").write_text(MERGED)
    config = load_config(tmp_path / "mm2.properties").config
    syncs = GroupSyncs(config)
    silent.add(out)
    with pytest.raises(ClusterUnavailable):
        syncs.of(config.flow("A->B"))
    silent.clear()
    made = {each.name: syncs.of(each) for each in config.flows_into("B")}
    for name, sync in made.items():
        assert {id(each) for each in sync.siblings()} == {
            id(each) for other, each in made.items() if other != name
        }
    assert made["A->B"].offsets is syncs.reader(config.flow("A->B"))
    syncs.close()
