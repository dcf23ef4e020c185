"""Clusters that copy the same topics to each other: each record once everywhere, no loops."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.brokers.mirrormaker import mirroring
from support.flows.kept_name_clusters import Mesh
from support.flows.spark_driver import wait_for
from support.records import kafka_records

from replication.model import Mode
from replication.state import PRODUCERS_TOPIC

pytestmark = pytest.mark.integration

IDEMPOTENT = {"enable.idempotence": True, "compression.type": "lz4"}


@pytest.fixture(scope="module")
def clusters(source_cluster, target_cluster, kafka_cluster):
    quick = {"log.cleaner.backoff.ms": "100"}  # to look for what can be compacted
    third = kafka_cluster("third", properties=quick)
    return {"A": source_cluster, "B": target_cluster, "C": third}


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
    for way in mesh.flows:
        assert all(each.is_clean() for each in mesh.compared(way, own=True))
        assert not any(each.is_clean() for each in mesh.compared(way, own=False))


def test_a_mesh_of_three_copies_each_record_by_its_direct_flow(clusters, tmp_path):
    mesh = Mesh(clusters, "AB BA AC CA BC CB", partitions=1)
    with mesh.writing("A", "B", "C"), mesh.copying(without=("C", "B")):
        mesh.killed(("C", "B"), 1, tmp_path)
    with mesh.copying(generation=2):
        pass
    mesh.assert_each_once()


@pytest.mark.parametrize("mode", Mode)
def test_a_ring_of_three_passes_records_on_until_they_would_come_home(clusters, tmp_path, mode):
    weak = mode == Mode.AT_LEAST_ONCE
    mesh = Mesh(clusters, "AB BC CA", 2, more={"delivery": mode if weak else "auto"}, mode=mode)
    with mesh.writing("A", "B", "C"), mesh.copying(without=("B", "C")):
        for generation in (1, 2):
            mesh.killed(("B", "C"), generation, tmp_path)
    with mesh.copying(generation=3):
        mesh.write("B", 20)
    mesh.assert_each_once(or_again=weak)


def test_a_copy_is_known_after_compaction_and_recompression_among_hundreds_of_ids(clusters):
    compacted = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "compression.type": "gzip",
    }
    mesh = Mesh(clusters, "AC CA", partitions=1, configs=compacted)
    mesh.fill_registry("C", 300)
    mesh.write("A", 200, IDEMPOTENT)
    away = mesh.flows["A", "C"].copy_all(partitions=mesh.spec(("A", "C")).partitions)
    assert away.outcome == "clean"
    mesh.write("C", 30, IDEMPOTENT)
    mesh.wait_compacted("C")
    before = born_at("C", mesh)
    back = mesh.flows["C", "A"].copy_all(partitions=mesh.spec(("C", "A")).partitions)
    after = born_at("C", mesh)  # as before, unless some were still being compacted
    assert before >= back.records >= after > 0


def born_at(where: str, mesh: Mesh) -> int:
    born = [each for each in mesh.read(where) if (each.value or b"").startswith(where.encode())]
    return len(born)


def test_headers_tell_copies_too_those_of_other_tools_included(two):
    mesh = Mesh(two, "AB BA", 1, more={"stamps": True}, settings={"cycle_prevention": "headers"})
    mesh.write("A", 20, IDEMPOTENT)
    with mesh.copying():
        mesh.write("B", 20)
    mesh.assert_each_once()
    away = [each for each in mesh.read("B") if (each.value or b"").startswith(b"A")]
    name, value = away[7].headers[0]
    assert (name, value.split(b"/")[0]) == ("isthmus.origin", mesh.names["A"].encode())
    assert value.endswith(f"/{mesh.topic}/0/7".encode())
    theirs = [(0, b"k", b"B by another tool", [("__mskmr", b"?")])]
    kafka_records.produce(two["B"].bootstrap_servers, mesh.topic, theirs)
    with mesh.copying(epoch=1, settled=False):
        mesh.flows["B", "A"].wait_copied()
    assert len(mesh.read("A")) == 40
    for way in mesh.flows:
        assert all(each.is_clean() for each in mesh.compared(way, own=True))
        assert not any(each.is_clean() for each in mesh.compared(way, own=False))


def test_what_former_units_copied_stays_known_when_the_registry_is_deleted(two):
    """BL-219: then a way back is opened."""
    mesh, away = Mesh(two, "AB BA", partitions=3), ("A", "B")
    mesh.write("A", 300)
    for unit in range(3):
        spec = mesh.spec(away, epoch=unit)
        mesh.flows[away].settle(replace(spec, unit=unit, partitions=(spec.partitions[unit],)))
    mesh.write("A", 30)
    mesh.flows[away].settle(mesh.spec(away, generation=2))
    kafka_records.delete_topics(two["B"].bootstrap_servers, PRODUCERS_TOPIC)
    mesh.flows[away].store.ensure_topics(mesh.names["A"])
    with mesh.copying(generation=3):
        pass
    mesh.assert_each_once()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_mirrormaker_brings_into_a_circle_counts_as_born_where_it_comes_in(clusters, tmp_path):
    """It copies from C to B, under kept names, while A and B copy to each other."""
    mesh = Mesh(clusters, "AB BA", partitions=1)
    servers = {each: clusters[each].bootstrap_servers for each in "CB"}
    mesh.write("C", 40)
    with mirroring(mesh.topic, servers, mesh.names["C"], tmp_path), mesh.copying(settled=False):
        for each in "ABC":
            mesh.write(each, 20)
        there = mesh.reader("A")
        wait_for(lambda: len(there.read()) >= 100, 400)
        mesh.write("C", 20)
        wait_for(lambda: len(there.read()) >= 120, 400)
    every = sorted(value for some in mesh.written.values() for value in some)
    assert sorted(each.value for each in mesh.read("A")) == every
    assert sorted(each.value for each in mesh.read("B")) == every
    assert len(mesh.read("C")) == 80
