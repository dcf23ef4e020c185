"""The clients that Dagster's runs get."""

from __future__ import annotations

import pytest
from support.network.fake_broker import FakeBroker

from orchestration.dagster.resources import Isthmus
from replication.adapters.local.cluster_file import cluster_file, write_ids
from replication.errors import WrongCluster
from replication.state import ClusterIds, status_topic
from replication.supervision.driver_supervision import applications

FILE = "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = {}\nA->B.enabled = true\n"


def test_bl_223_a_run_plans_from_no_other_target_than_the_driver_copies_to(tmp_path):
    """That cluster has no record of which one is right."""
    file = tmp_path / "mm2.properties"
    with FakeBroker(name="id-c") as broker:
        file.write_text(FILE.format(broker.address))
        isthmus = Isthmus(str(file), str(tmp_path))
        flow, (app,) = isthmus.config().flow("A->B"), applications(isthmus.config())
        store = isthmus.task_clients().store(flow)
        assert store.read(status_topic("A")) == {}  # nothing is known before the first start
        kept = cluster_file(isthmus.launcher().state_directory.app(app.name), flow.name)
        write_ids(kept, flow, ClusterIds("A->B", "id-a", "id-b"))
        clients = isthmus.task_clients()
        for ask in (
            lambda: clients.store(flow).read(status_topic("A")),
            clients.target(flow).topic_names,
        ):
            with pytest.raises(WrongCluster, match="target B is now the cluster with id id-c"):
                ask()
        clients.target(flow).close()
