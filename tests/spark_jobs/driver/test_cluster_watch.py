"""BL-223: a driver whose addresses lead to other clusters, and what it writes then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.settings.configs import a_flow

from replication.adapters.local.cluster_file import cluster_file, read_ids
from replication.client.cluster_ids import FlowClusters
from replication.errors import ClusterUnavailable, ConfigError, WrongCluster
from replication.state import (
    PRODUCERS_TOPIC,
    ClusterIds,
    ProducerEntry,
    TaskReport,
    status_topic,
)
from spark_jobs.driver.cluster_watch import ClusterWatch
from spark_jobs.driver.flow_lease import FlowLease

STATUS = status_topic("A")


class Site:
    """A cluster: its id, and its state topics. It is a store and an admin client alike."""

    def __init__(self, cluster: str) -> None:
        self.id, self.topics, self.silent = cluster, {}, False
        self.posted, self.made, self.last_error = [], [], None

    def cluster_id(self):
        if self.silent:
            raise ClusterUnavailable("reading the cluster id at b:1: no response in time")
        return self.id

    def read(self, topic):
        self.cluster_id()
        return self.topics.get(topic, {})

    def write(self, topic, *records):
        self.topics.setdefault(topic, {}).update((each.key(), each) for each in records)

    def post(self, topic, record):
        self.posted.append(record)

    def ensure_topics(self, source):
        self.made.append(source)


class Address:
    """What an address leads to; it may be switched."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def __getattr__(self, name):
        return getattr(self.site, name)


class Stage:
    def __init__(self, folder) -> None:
        self.a, self.b = Site("id-a"), Site("id-b")
        self.source, self.target = Address(self.a), Address(self.b)
        self.file = cluster_file(folder, "A->B")
        self.readers = []

    def watch(self) -> ClusterWatch:
        return ClusterWatch(a_flow(), FlowClusters("A->B"), self.target, self.file, self.readers)

    def started(self) -> ClusterWatch:
        watch = self.watch()
        watch.require_target()
        watch.check(self.source, self.target)
        return watch

    def stored(self) -> ClusterIds:
        found = self.b.read(STATUS)[ClusterIds("A->B").key()]
        return replace(found, at_ms=0)


@pytest.fixture
def stage(tmp_path) -> Stage:
    return Stage(tmp_path)


def test_the_first_start_stores_both_ids_on_the_target_and_beside_it(stage):
    stage.started()
    assert stage.stored() == ClusterIds("A->B", "id-a", "id-b")
    kept = read_ids(stage.file, a_flow())
    assert (kept.source, kept.target) == ("id-a", "id-b")


def test_a_source_that_turns_into_the_target_is_seen_by_the_next_plan_and_so_is_its_return(stage):
    """BL-223."""
    watch = stage.started()
    stage.source.site = stage.b
    with pytest.raises(WrongCluster, match="source A is now the cluster with id id-b, which is B"):
        watch.check(stage.source, stage.target)
    assert (watch.target_problem, watch.accepted) == ("", "")
    stage.source.site = stage.a
    watch.check(stage.source, stage.target)
    assert stage.stored() == ClusterIds("A->B", "id-a", "id-b")


def test_a_driver_that_starts_meanwhile_knows_it_too(stage):
    """BL-223."""
    stage.started()
    stage.file.unlink()
    stage.source.site = Site("other")
    watch = stage.watch()
    watch.require_target()
    with pytest.raises(WrongCluster, match="source A is now the cluster with id other"):
        watch.check(stage.source, stage.target)


def test_a_flow_that_an_older_release_began_knows_its_source(stage):
    stage.b.write(PRODUCERS_TOPIC, ProducerEntry(7, "A->B", "id-a", "isthmus.A->B.0", 1))
    stage.source.site = Site("other")
    watch = stage.watch()
    watch.require_target()
    with pytest.raises(WrongCluster, match="source A is now"):
        watch.check(stage.source, stage.target)


def test_nothing_is_written_to_a_cluster_that_the_targets_address_leads_to_by_mistake(stage):
    """BL-223."""
    watch = stage.started()
    lease = FlowLease(a_flow(), stage.target, watch)
    wrong = stage.target.site = Site("other")
    with pytest.raises(WrongCluster, match="target B is now the cluster with id other"):
        watch.check(stage.source, stage.target)
    lease.beat(state="WRONG_CLUSTER", reason="")
    lease.report(TaskReport("A->B", "group offsets"))
    lease.end_epoch(7)
    assert "target B is now" in lease.write_problem
    with pytest.raises(WrongCluster):  # a driver that starts now
        FlowLease(a_flow(), stage.target, stage.watch()).prepare()
    assert (wrong.posted, wrong.topics, wrong.made) == ([], {}, [])
    stage.target.site = stage.b
    watch.check(stage.source, stage.target)
    lease.beat(state="RUNNING", reason="")
    assert [each.state for each in stage.b.posted] == ["RUNNING"]


def test_without_a_local_file_a_flow_that_reads_the_target_knows_it(stage):
    back, on_a = a_flow("B", "A"), Site("id-a")
    on_a.write(status_topic("B"), ClusterIds("B->A", "id-b", "id-a"))
    silent = Site("id-c")
    silent.silent = True
    stage.readers = [(a_flow("B", "C"), lambda _: silent), (back, lambda _: on_a)]
    stage.target.site = Site("other")
    with pytest.raises(WrongCluster, match="target B is now the cluster with id other"):
        stage.watch().require_target()


def test_a_cluster_of_which_nobody_knows_anything_is_right(stage):
    """What cannot be proven: docs/control-plane.md says so."""
    stage.target.site = Site("other")
    stage.started()
    assert stage.target.site.read(STATUS)


@pytest.mark.parametrize("side", ["source", "target"])
def test_an_accepted_cluster_needs_a_new_driver_which_goes_on(stage, side):
    """BL-223."""
    watch = stage.started()
    new = Site("new")
    getattr(stage, side).site = new
    with pytest.raises(WrongCluster):
        watch.check(stage.source, stage.target)
    ids = ClusterIds("A->B", stage.source.id, stage.target.id, "ann@ops", 1 << 60)
    stage.target.write(STATUS, ids)
    with pytest.raises(WrongCluster):  # until the connections to the former one are closed
        watch.check(stage.source, stage.target)
    assert watch.accepted == "new"
    assert (stage.started().known.source_id, stage.started().known.target_id) == (
        stage.source.id,
        stage.target.id,
    )


def test_one_cluster_under_two_names_is_not_stored(stage):
    stage.source.site = stage.b
    with pytest.raises(ConfigError, match="A and B are the same cluster"):
        stage.started()
    assert stage.b.read(STATUS) == {}
    assert not stage.file.exists()


def test_a_silent_target_is_not_taken_for_another_one(stage):
    watch = stage.started()
    stage.b.silent = True
    with pytest.raises(ClusterUnavailable) as caught:
        watch.check(stage.source, stage.target)
    assert not isinstance(caught.value, WrongCluster)
    assert watch.target_problem == ""


def test_a_target_that_the_operator_gave_another_address_is_another_one_on_purpose(stage):
    stage.started()
    moved = a_flow()
    admin = {**moved.clients.target_admin, "bootstrap.servers": "elsewhere:9092"}
    clients = moved.clients.model_copy(update={"target_admin": admin})
    assert read_ids(stage.file, moved.model_copy(update={"clients": clients})).target == ""


def test_a_damaged_file_knows_nothing(stage):
    stage.started()
    stage.file.write_text("{}")
    assert read_ids(stage.file, a_flow()) == ClusterIds("A->B")


def test_a_disk_that_is_full_stops_no_plan(stage):
    stage.file.parent.parent.write_text("a file in the place of a directory")
    watch = stage.started()
    assert stage.stored() == ClusterIds("A->B", "id-a", "id-b")
    stage.file.parent.parent.unlink()
    watch.check(stage.source, stage.target)
    assert read_ids(stage.file, a_flow()).target == "id-b"


def test_a_source_that_turns_into_the_target_is_not_accepted_because_an_operator_once_answered(
    stage,
):
    """Else the driver would start again for ever."""
    stage.b.write(STATUS, ClusterIds("A->B", "id-a", "id-b", "ann@ops", 7))
    watch = stage.started()
    stage.source.site = stage.b
    with pytest.raises(WrongCluster, match="which is B"):
        watch.check(stage.source, stage.target)
    assert watch.accepted == ""
