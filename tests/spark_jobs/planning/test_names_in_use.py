"""Changed names in a driver: a topic waits under its old name, the others of the flow go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_admin import MemoryClients
from support.fakes.memory_topics import StoredRecords, TopicCluster
from support.fakes.plan_clusters import right_clusters
from support.settings.configs import a_config, a_flow

from replication.model import NameChange
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.provenance.routes import Routes
from replication.settings.naming_settings import Naming
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import TopicCreation
from replication.state import Anchor, NameDecision
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlan, FlowPlanMemory, FlowPlanner
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics

ANCHORS, STATUS = "isthmus-anchors.A.internal", "isthmus-status.A.internal"
COPIED = Anchor("A->B", "orders", 0, "A.orders", 100, 100, records=100, clean=True)
CHANGE = NameChange("A.orders", "A-orders")


class Run:
    """A driver whose file says A-orders, where orders was copied as A.orders."""

    def __init__(self, policy: str = "stop", *anchors: Anchor) -> None:
        self.flow = a_flow().model_copy(
            update={
                "naming": Naming(separator="-"),
                "policies": Policies(name_changed=policy),
                "creation": TopicCreation(replication_factor=1),
            }
        )
        self.config = a_config(self.flow)
        self.source = TopicCluster(orders=1, clicks=1)
        self.target = TopicCluster(**{"A.orders": 1, ANCHORS: 1})
        self.target.filled = {"A.orders", ANCHORS}
        self.store = StoredRecords({ANCHORS: list(anchors or (COPIED,))})
        self.decisions: dict[str, NameDecision] = {}
        namer = Namer.for_flow(self.flow, self.config)
        self.arrivals: tuple[Anchor, ...] = ()  # of flows into A
        names = NamesInUse(
            namer, self.store, lambda: self.decisions, lambda: self.arrivals, ["A->B"]
        )
        routes = Routes.of(self.config.flows, self.config.clusters)
        guard = NamingGuard(StoredRecords(self.store.topics))
        memory = FlowPlanMemory(
            SourceTopics(self.flow.name, namer.selector, StoredRecords()),
            names,
            right_clusters(self.flow.name),
        )
        self.planner = FlowPlanner(namer, routes, guard, DeliveryModes("append"), memory)

    def plan(self) -> FlowPlan:
        clients = MemoryClients({"A": self.source, "B": self.target})
        planner = Planner(self.config, clients, {PlanPart.TOPICS})
        return self.planner.plan(self.source, self.target, planner)

    def decide(self, choice: str) -> None:
        self.decisions["orders"] = NameDecision("A->B", "orders", *CHANGE[:2], choice)

    def move(self) -> None:
        """Do what the units do: continue under the new name."""
        self.store.topics[ANCHORS] = [replace(COPIED, target_topic="A-orders")]


def targets(plan: FlowPlan) -> dict[str, str]:
    return {str(each.source): str(each.target) for each in plan.partitions}


def test_a_topic_whose_name_changed_waits_and_the_others_are_copied():
    run = Run()
    made = run.plan()
    assert targets(made) == {"orders-0": "A.orders-0", "clicks-0": "A-clicks-0"}
    assert {e.source.topic: e.name_change for e in made.partitions} == {
        "orders": CHANGE,
        "clicks": None,
    }
    assert "A-orders" not in run.target.counts, "nothing is made for it before an answer"
    (note,) = [each for each in made.notes if "A.orders" in each]
    assert note.startswith("orders was copied as A.orders, and the file now names it A-orders")


def test_a_topic_that_waits_does_not_grow():
    run = Run()
    run.source.counts["orders"] = 3
    assert targets(run.plan())["orders-0"] == "A.orders-0"
    assert run.target.counts["A.orders"] == 1


@pytest.mark.parametrize("choice", ["continue", "reseed"])
@pytest.mark.parametrize("by", ["operator", "policy"])
def test_a_choice_for_the_new_name_makes_its_topic_and_tells_the_units(choice, by):
    run = Run(choice if by == "policy" else "stop")
    if by == "operator":
        run.plan()
        run.decide(choice)
    made = run.plan()
    assert targets(made)["orders-0"] == "A-orders-0"
    assert CHANGE._replace(choice=choice) in {each.name_change for each in made.partitions}
    assert run.target.counts["A-orders"] == 1


def test_a_decision_is_withdrawn_when_the_units_have_carried_it_out():
    run = Run()
    run.decide("continue")
    run.plan()
    assert STATUS not in run.store.topics
    run.move()
    made = run.plan()
    assert {each.name_change for each in made.partitions} == {None}
    assert run.store.topics[STATUS] == [NameDecision("A->B", "orders")]


def test_a_kept_name_is_planned_as_if_it_had_not_changed_and_said_so():
    run = Run()
    run.decide("keep")
    made = run.plan()
    assert targets(made) == {"orders-0": "A.orders-0", "clicks-0": "A-clicks-0"}
    assert {each.name_change for each in made.partitions} == {None}
    assert made.remark == "copied under a former name: orders as A.orders"
    assert STATUS not in run.store.topics, "it holds while the file says another name"


def test_a_kept_topic_grows_under_its_old_name():
    run = Run("keep")
    run.source.counts["orders"] = 3
    assert targets(run.plan())["orders-2"] == "A.orders-2"
    assert "A-orders" not in run.target.counts


def test_a_topic_that_waits_without_a_copy_on_the_target_is_reported():
    run = Run()
    del run.target.counts["A.orders"]
    made = run.plan()
    assert targets(made) == {"clicks-0": "A-clicks-0"}
    assert made.refused.startswith("orders was copied as A.orders")


def test_anchors_are_read_once_while_a_topic_waits_and_each_time_while_it_moves():
    run = Run()
    run.plan()
    run.plan()
    assert run.store.reads.count(ANCHORS) == 1
    run.decide("continue")
    run.plan()
    run.plan()
    assert run.store.reads.count(ANCHORS) == 2
    run.move()
    run.plan()
    run.plan()
    assert run.store.reads.count(ANCHORS) == 3


@pytest.mark.parametrize("choice", ["", "keep"])
def test_a_topic_that_comes_back_after_others_were_new_still_has_its_old_name(choice):
    """Its own anchors are not among those that are remembered of the last reading."""
    run = Run()
    run.decide(choice)
    run.plan()
    run.source.denied = {"orders"}
    for _ in range(4):
        run.plan()
    run.source.counts["later"] = 1
    assert targets(run.plan()).keys() == {"clicks-0", "later-0"}
    run.source.denied = set()
    assert targets(run.plan())["orders-0"] == "A.orders-0"
    assert "A-orders" not in run.target.counts
    assert STATUS not in run.store.topics, "the decision is not withdrawn"


def test_an_unanswered_plan_is_the_same_object_until_something_changes():
    run = Run()
    first = run.plan()
    assert run.plan().partitions is first.partitions


def test_a_flow_under_another_alias_is_told_that_its_topics_were_copied():
    former = replace(COPIED, flow="X->B", target_topic="X.orders", source_topic_id="orders")
    run = Run()
    run.store.topics = {"isthmus-anchors.X.internal": [former]}
    run.target.counts["isthmus-anchors.X.internal"] = 1
    made = run.plan()
    (warning,) = [each for each in made.notes if "X->B, which is not in this file" in each]
    assert "(orders as X.orders)" in warning
    assert "(orders as A-orders)" in warning
    assert made.remark == warning
    assert made.refused == ""


@pytest.mark.parametrize(
    ("further", "copies"), [((), set()), (("B->C",), {"C.stock"})], ids=["chain", "ring"]
)
def test_a_copy_under_a_former_name_is_not_copied_back(further, copies):
    run = Run()
    into = a_flow("C", "A")
    former = Anchor("C->A", "stock", 0, "C.stock", 9, 9, records=9)
    fresh = Anchor("C->A", "fresh", 0, "C-fresh", 9, 9, records=9)
    namer, flows = Namer.for_flow(run.flow, a_config(run.flow, into)), ("A->B", "C->A", *further)
    names = NamesInUse(namer, run.store, dict, lambda: (former, fresh), flows)
    assert set(names.copies(["C.stock", "own"])) == copies


@pytest.mark.parametrize(("others", "gap"), [((), True), (("own",), False)])
def test_a_flow_that_has_only_copies_to_hide_says_so(others, gap):
    run = Run()
    run.source.counts = {"B.orders": 1, **dict.fromkeys(others, 1)}
    run.arrivals = (Anchor("B->A", "orders", 0, "B.orders", 9, 9, records=9),)
    made = run.plan()
    text = "no topic is copied; B.orders is a copy of orders of B: it is not copied back"
    assert (made.gap, len(made.partitions)) == (text if gap else "", len(others))


def test_a_topic_may_go_back_to_a_name_that_it_was_copied_under_before():
    moved = replace(COPIED, target_topic="A.orders", former="A-orders", since=(50, 0))
    run = Run("stop", moved)
    run.target.counts["A-orders"] = 1
    run.target.filled.add("A-orders")
    run.decide("continue")
    made = run.plan()
    assert (targets(made)["orders-0"], made.refused) == ("A-orders-0", "")
