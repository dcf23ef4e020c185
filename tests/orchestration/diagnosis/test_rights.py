"""What a diagnosis says of rights: what is missing, on what, and for which duty."""

from __future__ import annotations

from orchestration.diagnosis.finding import FindingLevel
from orchestration.diagnosis.rights import examples, judge_rights
from replication.client.acl_values import (
    GROUP,
    LITERAL,
    PREFIXED,
    TOPIC,
    TRANSACTIONAL_ID,
    Resource,
)
from replication.client.cluster_facts import GrantedOperations
from replication.planning.required_acls import RequiredAcl

ORDERS = Resource(TOPIC, "orders")


def need(resource, *operations):
    return RequiredAcl("A", resource, operations, "topics to copy", "A->B")


def judged(expected, *grants, topics=("orders", "other")):
    return list(judge_rights([expected], {("A", "A->B"): topics}, grants))


def test_an_acl_for_many_names_is_judged_by_those_that_exist():
    prefix = need(Resource(TOPIC, "or", PREFIXED), "READ")
    assert examples(prefix, {"orders", "other"}) == (ORDERS,)
    every = need(Resource(TOPIC, "*", LITERAL), "READ")
    assert examples(every, {"b", "a"}) == (Resource(TOPIC, "a"), Resource(TOPIC, "b"))
    group = need(Resource(GROUP, "isthmus-", PREFIXED), "DESCRIBE")
    assert examples(group, ()) == (Resource(GROUP, "isthmus-doctor"),)


def test_what_is_missing_is_named_with_its_duty():
    expected = need(ORDERS, "READ", "DESCRIBE_CONFIGS")
    (found,) = judged(expected, GrantedOperations(ORDERS, frozenset({"DESCRIBE_CONFIGS"})))
    assert (found.level, found.where) == (FindingLevel.ERROR, "cluster A")
    assert found.what == "our user lacks READ on topic orders: topics to copy"
    assert "isthmus acls needed" in found.to_do


def test_a_right_without_which_copying_goes_on_is_a_warning():
    expected = need(ORDERS, "READ", "DESCRIBE_CONFIGS")
    (found,) = judged(expected, GrantedOperations(ORDERS, frozenset({"READ"})))
    assert found.level is FindingLevel.WARNING


def test_nothing_is_said_of_what_does_not_exist():
    assert judged(need(ORDERS, "READ"), GrantedOperations(ORDERS, None)) == []
    (found,) = judged(need(ORDERS, "READ"), GrantedOperations(ORDERS, frozenset({"READ"})))
    assert found.level is FindingLevel.OK


def test_a_transactional_id_that_may_not_be_described_may_not_be_written():
    name = Resource(TRANSACTIONAL_ID, "isthmus.A->B", PREFIXED)
    asked = Resource(TRANSACTIONAL_ID, "isthmus.A->Bdoctor")
    (denied,) = judged(need(name, "WRITE"), GrantedOperations(asked, frozenset()))
    assert denied.level is FindingLevel.WARNING
    (allowed,) = judged(need(name, "WRITE"), GrantedOperations(asked, frozenset({"DESCRIBE"})))
    assert allowed.level is FindingLevel.OK
