"""Clusters that copy the same topics to each other: each record everywhere once, none at home."""

from __future__ import annotations

import pytest
from meshes import Mesh

pytestmark = pytest.mark.integration

IDEMPOTENT = {"enable.idempotence": True, "compression.type": "lz4"}


@pytest.fixture(scope="module")
def clusters(source_cluster, target_cluster, kafka_cluster):
    return {"A": source_cluster, "B": target_cluster, "C": kafka_cluster("third")}


@pytest.fixture
def two(clusters):
    return {each: clusters[each] for each in "AB"}


def test_two_clusters_copy_to_each_other_while_units_are_killed(two, tmp_path):
    mesh = Mesh(two, "AB BA")
    mesh.write("A", 40, IDEMPOTENT)
    mesh.write("B", 40)
    with mesh.writing("A", "B"), mesh.copying(without=("A", "B")):
        for generation in (1, 2):
            mesh.killed(("A", "B"), generation, tmp_path)
    with mesh.copying(generation=3):
        mesh.write("A", 20)
        mesh.write("B", 20, IDEMPOTENT)
    mesh.assert_each_once()


def test_a_mesh_of_three_copies_each_record_by_its_direct_flow(clusters, tmp_path):
    mesh = Mesh(clusters, "AB BA AC CA BC CB", partitions=1)
    with mesh.writing("A", "B", "C"), mesh.copying(without=("C", "B")):
        mesh.killed(("C", "B"), 1, tmp_path)
    with mesh.copying(generation=2):
        pass
    mesh.assert_each_once()


def test_a_ring_of_three_passes_records_on_until_they_would_come_home(clusters, tmp_path):
    mesh = Mesh(clusters, "AB BC CA", partitions=2)
    with mesh.writing("A", "B", "C"), mesh.copying(without=("B", "C")):
        for generation in (1, 2):
            mesh.killed(("B", "C"), generation, tmp_path)
    with mesh.copying(generation=3):
        mesh.write("B", 20)
    mesh.assert_each_once()


def test_a_chain_passes_records_on(clusters):
    mesh = Mesh(clusters, "AB BC", partitions=1)
    mesh.write("A", 20)
    with mesh.copying():
        mesh.write("B", 20)
        mesh.write("A", 20)
    with mesh.copying(epoch=1):
        mesh.write("A", 20)
    mesh.assert_each_once()
