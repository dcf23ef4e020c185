"""Topic names on real brokers: planning, and the names that flows announce."""

from __future__ import annotations

import uuid

import pytest
from support.fakes.memory_topics import StoredRecords
from support.fakes.plan_clusters import right_clusters
from support.flows.waiting import await_equal
from support.records import kafka_records
from support.settings.configs import a_config, a_flow

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.planned_cluster import PlannedCluster
from replication.adapters.clients import KafkaClients
from replication.adapters.topics.state_store import StateStore
from replication.naming.conflicts import Named
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.provenance.routes import Routes
from replication.settings.flow_settings import FlowClients
from replication.settings.topic_settings import TopicCreation
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlanMemory, FlowPlanner
from spark_jobs.planning.name_announcements import NameAnnouncements
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics

pytestmark = pytest.mark.integration


def test_bl_027_replicators_that_call_their_own_cluster_local_make_no_names_grow(
    source_cluster, target_cluster
):
    """Two of them, one a site, in both directions each, with prefixes; ten looks of each."""
    mark = uuid.uuid4().hex[:6]
    sites = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    for site in sites:
        kafka_records.create_topic(site, f"t-{mark}", 1)
    looks = [look for near in (0, 1) for look in both_ways(mark, sites[near], sites[1 - near])]
    for _ in range(10):
        for look in looks:
            look()
        for site in sites:
            expected = [f"local{mark}.t-{mark}", f"remote{mark}.t-{mark}", f"t-{mark}"]
            await_equal(lambda site=site: names_of(mark, site), expected)


def names_of(mark: str, site: str) -> list[str]:
    names = KafkaAdmin({"bootstrap.servers": site}).topic_names()
    return sorted(each for each in names if each.endswith(f"t-{mark}"))


def test_flows_in_applications_of_their_own_hear_what_others_call_their_topics(target_cluster):
    mark = uuid.uuid4().hex[:6]
    first, second = f"a{mark}->T", f"b{mark}->T"
    store = StateStore({"bootstrap.servers": target_cluster.bootstrap_servers}, 1)
    ours, theirs = Named(first, "x", "all", "rule"), Named(second, "z", "all", merges=True)
    store.ensure_topics(f"a{mark}")  # nobody has prepared the other one's
    assert NameAnnouncements(store, {second}).exchange(first, [ours], [ours]) == ()
    store.ensure_topics(f"b{mark}")
    assert NameAnnouncements(store, {first}).exchange(second, [theirs], [theirs]) == (ours,)
    assert NameAnnouncements(store, {second}).exchange(first, [ours], [ours]) == (theirs,)
    store.close()


def both_ways(mark: str, near: str, far: str):
    """Return what looks at each direction, as a driver does."""
    addresses = {f"local{mark}": near, f"remote{mark}": far}
    ways = [(one, two) for one in addresses for two in addresses if one != two]
    config = a_config(*(a_way(*way, addresses, mark) for way in ways))
    return [looking(flow, config) for flow in config.flows]


def a_way(source: str, target: str, addresses: dict[str, str], mark: str):
    properties = [{"bootstrap.servers": addresses[each]} for each in (source, target)]
    clients = FlowClients(
        source_consumer=properties[0],
        source_admin=properties[0],
        target_producer=properties[1],
        target_admin=properties[1],
    )
    creation = TopicCreation(replication_factor=1)
    made = a_flow(source, target, (f".*t-{mark}",))
    return made.model_copy(update={"clients": clients, "creation": creation})


def looking(flow, config):
    """Return a look of a flow's driver."""
    namer, store = Namer.for_flow(flow, config), StateStore(dict(flow.clients.target_admin), 1)
    planner = FlowPlanner(
        namer,
        Routes.of(config.flows, config.clusters),
        NamingGuard(store),
        DeliveryModes("append"),
        FlowPlanMemory(
            SourceTopics(flow.name, namer.selector, StoredRecords()),
            NamesInUse(namer, store, dict),
            right_clusters(flow.name),
        ),
    )
    near = PlannedCluster(flow.clients.source_admin)
    far = PlannedCluster(flow.clients.target_admin)
    clients = KafkaClients()
    return lambda: planner.plan(near, far, Planner(config, clients, {PlanPart.TOPICS}))
