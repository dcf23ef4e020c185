"""Topics whose target name changed: found by their anchors, and what each choice leads to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.settings.configs import a_config, a_flow

from replication.model import NameChange
from replication.naming.name_changes import (
    describe,
    holding,
    kept_names,
    name_changes,
    spent,
    unnamed_copies,
    with_names_in_use,
)
from replication.naming.selection import TopicSelector
from replication.naming.topic_namer import Namer
from replication.settings.naming_settings import MappedName, Naming, RenameRule
from replication.settings.state_policies import CHOICES, Policies
from replication.state import Anchor, NameDecision, parse

DASH = Naming(separator="-")
COPIED = Anchor("A->B", "orders", 0, "A.orders", 100, 100, records=100, clean=True)
KEEP = NameDecision("A->B", "orders", "A.orders", "A-orders", "keep")
MOVED = NameChange("A.orders", "A-orders")


def found(*anchors: Anchor, naming: Naming = DASH, policy: str = "stop", **more):
    flow = a_flow().model_copy(update={"naming": naming, "policies": Policies(name_changed=policy)})
    selector = TopicSelector.for_flow(flow, ("A", "B"))
    decisions = {each.topic: each for each in more.get("decisions", ())}
    counts = more.get("partitions", {"orders": 2, "clicks": 1})
    return name_changes(flow, selector, anchors, decisions, counts)


@pytest.mark.parametrize(
    ("naming", "new"),
    [
        pytest.param(DASH, "A-orders", id="separator"),
        pytest.param(Naming(kind="identity"), "orders", id="policy"),
        pytest.param(
            Naming(kind="rename", rename=RenameRule(pattern="(.+)", replacement="x-$1")),
            "x-orders",
            id="rename rule",
        ),
        pytest.param(
            Naming(mapped=(MappedName(None, "orders", "all-orders"),)), "all-orders", id="map"
        ),
    ],
)
def test_whatever_changes_a_name_the_topic_waits_under_the_old_one(naming, new):
    changes = found(COPIED, naming=naming)
    assert changes == {"orders": NameChange("A.orders", new)}
    assert changes["orders"].in_use == "A.orders"


def test_a_topic_that_is_called_as_before_has_no_change():
    assert found(COPIED, naming=Naming()) == {}


@pytest.mark.parametrize(
    "anchor",
    [
        pytest.param(replace(COPIED, source=None), id="never copied"),
        pytest.param(replace(COPIED, flow="C->B"), id="of another flow"),
        pytest.param(replace(COPIED, topic="gone"), id="deleted at the source"),
        pytest.param(replace(COPIED, partition=5), id="of a topic recreated with fewer partitions"),
    ],
)
def test_anchors_that_no_copy_continues_from_change_no_name(anchor):
    assert found(anchor) == {}


def test_a_topic_that_is_partly_under_the_new_name_is_still_on_its_way():
    moved = replace(COPIED, partition=1, target_topic="A-orders")
    assert found(COPIED, moved) == {"orders": MOVED}
    assert found(replace(COPIED, target_topic="A-orders"), moved) == {}


def test_a_topic_of_which_nothing_was_copied_goes_on_without_a_question():
    empty = replace(COPIED, records=0)
    assert found(empty)["orders"].choice == "continue"
    assert found(replace(empty, clean=False))["orders"].choice == ""
    assert found(replace(empty, since=(100, 100)))["orders"].choice == "", "taken over from another"


@pytest.mark.parametrize("choice", CHOICES["NAME_CHANGED"])
def test_the_policy_answers_where_no_operator_did(choice):
    assert found(COPIED, policy=choice) == {"orders": MOVED._replace(choice=choice)}


def test_a_decision_holds_for_the_two_names_that_it_was_made_about():
    assert found(COPIED, decisions=[KEEP])["orders"].choice == "keep"
    assert found(COPIED, decisions=[KEEP], policy="reseed")["orders"].choice == "keep"
    other = found(COPIED, decisions=[KEEP], naming=Naming(separator="_"))
    assert other == {"orders": NameChange("A.orders", "A_orders")}
    withdrawn = replace(KEEP, choice="")
    assert found(COPIED, decisions=[withdrawn])["orders"].choice == ""


@pytest.mark.parametrize(
    ("choice", "in_use"),
    [("", "A.orders"), ("keep", "A.orders"), ("continue", "A-orders"), ("reseed", "A-orders")],
)
def test_the_name_in_use_is_that_of_every_reader_of_the_configuration(choice, in_use):
    config = a_config(a_flow().model_copy(update={"naming": DASH}))
    held = with_names_in_use(config, {"A->B": {"orders": MOVED._replace(choice=choice)}})
    namer = Namer.for_flow(held.flow("A->B"), held)
    assert {e.topic: e.target for e in namer.named(["orders", "clicks"])} == {
        "orders": in_use,
        "clicks": "A-clicks",
    }


def test_a_name_that_is_held_wins_over_the_line_of_a_map():
    naming = Naming(mapped=(MappedName("A", "orders", "all"),))
    config = a_config(a_flow().model_copy(update={"naming": naming}))
    held = with_names_in_use(config, {"A->B": {"orders": NameChange("of-a", "all", "keep")}})
    selector = TopicSelector.for_flow(held.flow("A->B"), held.clusters)
    assert selector.remote_topic("orders") == "of-a"


def test_a_rule_that_merges_topics_stays_the_same_while_one_of_them_keeps_its_name():
    config = a_config(a_flow().model_copy(update={"naming": DASH}))
    held = with_names_in_use(config, {"A->B": {"orders": MOVED}})
    (before,) = Namer.for_flow(config.flow("A->B"), config).named(["clicks"])
    (after,) = Namer.for_flow(held.flow("A->B"), held).named(["clicks"])
    assert after == before


def test_a_decision_is_withdrawn_when_it_is_carried_out_or_the_name_came_back():
    assert list(spent([KEEP], {})) == [KEEP]
    assert list(spent([KEEP], {"orders": NameChange("A.orders", "A_orders")})) == [KEEP]
    assert list(spent([KEEP], {"orders": MOVED._replace(choice="keep")})) == []
    assert list(spent([replace(KEEP, choice="")], {})) == []


def test_each_change_is_told_with_both_names():
    reported = {each: describe("orders", MOVED._replace(choice=each)) for each in ("", "continue",
            "reseed", "keep")}  # fmt: skip
    assert reported == {
        "": "orders was copied as A.orders, and the file now names it A-orders: it is not copied "
        "until `isthmus resolve FILE` chooses continue (copy new records as A-orders), "
        "reseed (copy all again as A-orders) or keep (copy on as A.orders)",
        "continue": "orders was copied as A.orders; new records are copied as A-orders, A.orders "
        "keeps the former ones",
        "reseed": "orders was copied as A.orders; all of it is copied again as A-orders",
        "keep": "orders is copied on as A.orders, although the file names it A-orders",
    }
    kept = {"orders": MOVED._replace(choice="keep"), "clicks": MOVED}
    assert kept_names(kept) == "copied under a former name: orders as A.orders"


def test_a_name_decision_comes_back_as_it_was_stored():
    assert parse(KEEP.key(), KEEP.value()) == KEEP


BACK = a_flow("B", "A").model_copy(update={"naming": DASH})


BOTH = ("A->B", "B->A")


def hidden(*arrivals: Anchor, flow=BACK, flows=BOTH) -> list[str]:
    selector = TopicSelector.for_flow(flow, ("A", "B"))
    return [each.target for each in unnamed_copies(flow, selector, arrivals, flows)]


def test_a_copy_whose_name_no_longer_shows_it_is_known_by_its_anchor():
    left_behind = replace(COPIED, topic="stock", target_topic="A-stock", former="A.stock")
    assert hidden(COPIED, left_behind) == ["A.orders", "A.stock"]


def test_a_copy_that_may_hold_local_records_is_copied_on():
    assert hidden(replace(COPIED, target_topic="orders")) == []
    keeps = BACK.model_copy(update={"naming": Naming(kind="identity")})
    assert hidden(COPIED, flow=keeps) == [], "copies are detected by their records"


@pytest.mark.parametrize(
    ("flows", "is_hidden"),
    [
        (("C->B",), False),
        (("C->B", "B->C"), False),  # of what C got from A, nothing comes to C
        (("C->B", "A->C"), True),  # it may be A's own records, copied to C
        (("C->B", "A->D", "D->C"), True),
    ],
)
def test_a_copy_of_another_cluster_leads_on_unless_it_may_come_from_the_target(flows, is_hidden):
    onward = replace(COPIED, flow="C->B", target_topic="C.orders")
    assert hidden(onward, flows=("B->A", *flows)) == ["C.orders"] * is_hidden


def test_a_hidden_copy_is_no_topic_of_the_flow_back():
    copies = unnamed_copies(BACK, TopicSelector.for_flow(BACK, "AB"), [COPIED], BOTH)
    held = holding(BACK, {}, copies)
    judged = TopicSelector.for_flow(held, ("A", "B")).judge("A.orders")
    assert judged.reason == "comes from A: copying it would create a replication cycle"
