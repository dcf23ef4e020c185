"""Name conflicts in a driver: one topic is left out, the others are copied."""

import pytest
from support.fakes.memory_admin import MemoryClients
from support.fakes.memory_topics import StoredRecords, TopicCluster
from support.fakes.plan_clusters import right_clusters
from support.settings.configs import a_config, a_flow

from replication.errors import ConfigError
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.provenance.routes import Routes
from replication.settings.naming_settings import Naming, OwnPolicyClass, RenameRule
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import TopicCreation
from replication.state import PRODUCERS_TOPIC, Anchor, Claim, OffsetPoint, ProducerEntry
from spark_jobs.planning import naming_guard
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlan, FlowPlanMemory, FlowPlanner
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics

IDENTITY = Naming(kind="identity")
ANCHORS = "isthmus-anchors.A.internal"


def renamed(pattern: str, replacement: str, **more: object) -> Naming:
    return Naming(
        kind="rename", rename=RenameRule(pattern=pattern, replacement=replacement), **more
    )


def flow(source: str = "A", target: str = "B", naming: Naming = IDENTITY, **more: object):
    creation = TopicCreation(replication_factor=1)
    update = {"naming": naming, "creation": creation, **more}
    return a_flow(source, target).model_copy(update=update)


class Run:
    """Flows into one target, planned one after the other in one process."""

    def __init__(self, *flows, records: StoredRecords | None = None) -> None:
        self.config = a_config(*flows)
        self.records = records or StoredRecords()
        self.guard = NamingGuard(self.records)

    def plan(self, name: str, source: TopicCluster, target: TopicCluster) -> FlowPlan:
        namer = Namer.for_flow(self.config.flow(name), self.config)
        clients = MemoryClients(
            dict.fromkeys(self.config.clusters, source) | {namer.flow.target: target}
        )
        planner = Planner(self.config, clients, {PlanPart.TOPICS})
        routes = Routes.of(self.config.flows, self.config.clusters)
        topics = SourceTopics(name, namer.selector, StoredRecords())
        apart = StoredRecords(self.records.topics)  # whose reads are not the guard's
        names = NamesInUse(namer, apart, dict)
        modes = DeliveryModes("append")
        flow_planner = FlowPlanner(
            namer, routes, self.guard, modes, FlowPlanMemory(topics, names, right_clusters(name))
        )
        return flow_planner.plan(source, target, planner)


def targets(plan: FlowPlan) -> list[str]:
    return [str(each.target) for each in plan.partitions]


def filled(**topics: int) -> TopicCluster:
    cluster = TopicCluster(**topics)
    cluster.filled = set(topics)
    return cluster


def test_a_topic_without_a_leader_may_hold_records_of_others(monkeypatch):
    """Accepted once, it would be joined for good."""
    run, target = Run(flow()), filled(orders=2)
    ends = target.end_offsets
    monkeypatch.setattr(target, "end_offsets", lambda _: {})
    source = TopicCluster(orders=2, clicks=1)
    assert targets(run.plan("A->B", source, target)) == ["clicks-0"]
    monkeypatch.setattr(naming_guard, "_AGAIN_S", 0.0)
    monkeypatch.setattr(target, "end_offsets", ends)
    target.filled = set()
    assert targets(run.plan("A->B", source, target)) == ["clicks-0", "orders-0", "orders-1"]


def test_a_topic_with_records_of_others_is_refused_and_the_others_go_on():
    made = Run(flow()).plan("A->B", TopicCluster(orders=1, clicks=1), filled(orders=1))
    assert targets(made) == ["clicks-0"]
    assert made.refused.startswith("orders: the target has a topic of this name, with records")


def test_on_target_exists_continue_lets_it_be_appended_to():
    agreed = flow(policies=Policies(target_exists="continue"))
    made = Run(agreed).plan("A->B", TopicCluster(orders=1), filled(orders=1))
    assert (targets(made), made.refused) == (["orders-0"], "")


def test_a_topic_that_an_operator_made_and_left_empty_is_used():
    made = Run(flow()).plan("A->B", TopicCluster(orders=1), TopicCluster(orders=1))
    assert targets(made) == ["orders-0"]


def test_a_driver_that_starts_again_knows_its_topics_by_their_anchors():
    anchor = Anchor("A->B", "orders", 0, "orders", 5, 5)
    target = filled(orders=1, **{ANCHORS: 1})
    run = Run(flow(), records=StoredRecords({ANCHORS: [anchor]}))
    assert targets(run.plan("A->B", TopicCluster(orders=1), target)) == ["orders-0"]
    reads = list(run.records.reads)
    run.plan("A->B", TopicCluster(orders=1), target)
    assert run.records.reads == reads, "what is known is not read at every look"


def test_flows_that_start_together_read_the_anchors_once():
    target = filled(orders=1, **{ANCHORS: 1})
    anchors = [Anchor(f"{source}->B", "orders", 0, "orders", 5, 5) for source in "AC"]
    run = Run(flow("A"), flow("C"), records=StoredRecords({ANCHORS: anchors}))
    for name in ("A->B", "C->B"):
        assert targets(run.plan(name, TopicCluster(orders=1), target)) == ["orders-0"]
    assert run.records.reads == [ANCHORS]


def test_what_this_driver_has_begun_to_fill_stays_its_own():
    run, source, target = Run(flow()), TopicCluster(orders=1), TopicCluster()
    run.plan("A->B", source, target)
    target.filled = {"orders"}
    assert targets(run.plan("A->B", source, target)) == ["orders-0"]


def test_a_refused_topic_stays_refused_while_another_flow_looks():
    run = Run(flow("A"), flow("C"))
    target = filled(orders=1)
    for _ in range(2):
        for name in ("A->B", "C->B"):
            assert targets(run.plan(name, TopicCluster(orders=1, t=1), target)) == ["t-0"]


def test_a_flow_without_anchors_that_has_copied_before_is_asked_by_the_engine():
    entry = ProducerEntry(7, "A->B", "", "")
    records = StoredRecords({PRODUCERS_TOPIC: [entry]})
    target = filled(orders=1, **{PRODUCERS_TOPIC: 1})
    made = Run(flow(), records=records).plan("A->B", TopicCluster(orders=1), target)
    assert targets(made) == ["orders-0"]


@pytest.mark.parametrize(("topic", "planned"), [("orders", ["orders-0"]), ("other", [])])
def test_a_topic_that_lost_its_anchors_and_points_is_known_by_its_claims(topic, planned):
    """A driver that found both gone has claimed it, and died before it wrote an anchor."""
    state = [Claim("A->B", topic, 0), Anchor("A->B", "clicks", 0, "clicks", 5, 5)]
    target = filled(orders=1, **{ANCHORS: 1})
    run = Run(flow(), records=StoredRecords({ANCHORS: state}))
    assert targets(run.plan("A->B", TopicCluster(orders=1), target)) == planned


@pytest.mark.parametrize(("topic_id", "planned"), [("orders", ["orders-0"]), ("other", [])])
def test_bl_217_a_topic_that_lost_its_anchors_is_known_by_its_offset_points(topic_id, planned):
    points = "isthmus-offsets.A.internal"
    point = OffsetPoint("A->B", "orders", 0, 0, target_topic_id=topic_id)
    others = [Anchor("A->B", "clicks", 0, "clicks", 5, 5)]
    records = StoredRecords({points: [point], ANCHORS: others})
    target = filled(orders=1, **{points: 1, ANCHORS: 1})
    made = Run(flow(), records=records).plan("A->B", TopicCluster(orders=1), target)
    assert targets(made) == planned


def test_bl_039_same_topics_of_two_sources_merge_and_the_plan_says_so():
    run, target = Run(flow("A"), flow("C")), TopicCluster()
    run.plan("A->B", TopicCluster(orders=1), target)
    target.filled = {"orders"}
    made = run.plan("C->B", TopicCluster(orders=2), target)
    assert (targets(made), made.refused) == (["orders-0", "orders-1"], "")
    assert "orders: orders of A and orders of C merge into this topic" in made.notes


def test_two_sources_that_meet_by_chance_are_kept_apart_until_confirmed():
    def run(merge: tuple[str, ...]) -> FlowPlan:
        flows = flow("A"), flow("C", naming=renamed("x", "orders", merge=merge))
        confirmed = (flows[0].model_copy(update={"naming": Naming(kind="identity", merge=merge)}),)
        both, target = Run(*confirmed, flows[1]), TopicCluster()
        both.plan("A->B", TopicCluster(orders=1), target)
        return both.plan("C->B", TopicCluster(x=1, y=1), target)

    assert targets(run(())) == ["y-0"]
    assert targets(run(("ord.*",))) == ["orders-0", "y-0"]


@pytest.mark.parametrize(
    ("back", "planned"),
    [
        pytest.param([flow("B", "A")], ["orders-0"], id="both directions: both sides write"),
        pytest.param([flow("B", "C"), flow("C", "A")], ["orders-0"], id="a ring"),
        pytest.param([], [], id="one direction: somebody else's"),
        pytest.param([flow("B", "A", Naming())], [], id="prefixes back"),
    ],
)
def test_names_kept_in_a_circle_are_meant_to_mix_with_local_records(back, planned):
    run = Run(flow(), *back)
    assert targets(run.plan("A->B", TopicCluster(orders=1), filled(orders=1))) == planned


def test_bl_028_one_cluster_under_two_names_is_refused_with_both():
    cluster = TopicCluster(orders=1)
    with pytest.raises(ConfigError, match="A and B are the same cluster") as caught:
        Run(flow()).plan("A->B", cluster, cluster)
    assert "remove A->B" in str(caught.value)


def test_bl_027_two_replicators_that_swap_their_aliases_make_no_names_grow():
    here, there = TopicCluster(t1=1, heartbeats=1), TopicCluster(t2=1, heartbeats=1)
    ways = flow("local", "remote", Naming()), flow("remote", "local", Naming())
    ours, theirs = Run(*ways), Run(*ways)  # each calls its own cluster local
    counts = []
    for _ in range(10):
        for run, near, far in ((ours, here, there), (theirs, there, here)):
            run.plan("local->remote", near, far)
            run.plan("remote->local", far, near)
        counts.append((len(here.topics()), len(there.topics())))
    assert counts[-1] == counts[1]
    assert not [name for each in (here, there) for name in each.topics() if name.count("local") > 1]


PICKY = """
from replication.naming.custom_policy import NamingPolicy

class Picky(NamingPolicy):
    def format_remote_topic(self, source_cluster, topic):
        return f"{topic}.copy" if topic != "odd" else None
    def topic_source(self, topic):
        return None
    def upstream_topic(self, topic):
        return None
"""


def test_a_policy_in_python_that_fails_for_one_topic_stops_that_one_alone(tmp_path):
    (tmp_path / "picky_names.py").write_text(PICKY)
    own = OwnPolicyClass(written="python:picky_names:Picky", folder=str(tmp_path))
    run = Run(flow(naming=Naming(kind="own", own=own)))
    made = run.plan("A->B", TopicCluster(orders=1, odd=1), TopicCluster())
    assert targets(made) == ["orders.copy-0"]
    assert made.refused == (
        "odd: matched but not replicated: the naming policy python:picky_names:Picky: "
        "format_remote_topic('A', 'odd') returned None instead of a topic name"
    )
