"""Which ACLs on copies follow those on their sources."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_admin import UNRELATED, MemoryCluster
from support.fakes.plan_clusters import Stage, flow

from replication.client.acl_values import Acl, Resource
from replication.errors import ClusterRejected
from replication.planning.acl_sync import Grant, Revoke, Skip, translate
from replication.planning.planner import PlanPart
from replication.settings.naming_settings import Naming, Selection
from replication.settings.topic_settings import AclSync
from replication.state import AppliedAcls, parse

ONLY = {PlanPart.ACLS}


def acl(
    name: str,
    operation: str = "READ",
    user: str = "ann",
    permission: str = "allow",
    *,
    pattern: str = "literal",
    kind: str = "topic",
) -> Acl:
    return Acl(Resource(kind, name, pattern), f"User:{user}", "*", operation, permission)


def stage(*theirs: Acl, naming: str = "prefix", **rules: bool) -> Stage:
    """Return a stage with topics ``orders``, ``fin-a`` and ``fin-b`` of A, and ACLs on them."""
    about = flow(
        acls=AclSync(**rules),
        naming=Naming(kind=naming),
        selection=Selection(topics=("orders", "fin-.*")),
    )
    copies = {
        f"A.{each}" if naming == "prefix" else each: 1 for each in ("orders", "fin-a", "fin-b")
    }
    source = MemoryCluster(
        {"orders": 1, "fin-a": 1, "fin-b": 1, "other": 1}, rights={UNRELATED, *theirs}
    )
    return Stage(about, A=source, B=MemoryCluster(copies, rights=set()))


def granted(*theirs: Acl, **options) -> set[str]:
    """Return the ACLs of the target after a round."""
    made = stage(*theirs, **options)
    made.apply(parts=ONLY)
    assert not [e for e in made.plan(parts=ONLY).actions if isinstance(e, Grant | Revoke)]
    return {f"{each.resource}: {each}" for each in made.target.rights}


def test_sc_07_and_08_nobody_may_write_copies_and_all_becomes_read():
    assert granted(
        acl("orders", "READ"),
        acl("orders", "WRITE", "bob"),
        acl("orders", "ALL", "carl"),
        acl("orders", "ALL", "dan", "deny"),
        acl("orders", "WRITE", "eve", "deny"),
        acl("orders", "DESCRIBE", "fay"),
    ) == {
        "topic A.orders: allow User:ann to READ",
        "topic A.orders: allow User:carl to READ",
        "topic A.orders: deny User:dan to ALL",
        "topic A.orders: deny User:eve to WRITE",
        "topic A.orders: allow User:fay to DESCRIBE",
    }


def test_rights_on_topics_that_are_not_copied_do_not_follow():
    assert granted(acl("other"), acl("orders")) == {"topic A.orders: allow User:ann to READ"}


@pytest.mark.parametrize(
    ("naming", "rights"),
    [
        pytest.param("prefix", {"topic A.fin-*: allow User:ann to READ"}, id="names with a prefix"),
        pytest.param(
            "identity",
            {"topic fin-a: allow User:ann to READ", "topic fin-b: allow User:ann to READ"},
            id="kept names: a pattern would reach the target's own topics",
        ),
    ],
)
def test_bl_096_prefixed_rights_follow(naming, rights):
    assert granted(acl("fin-", pattern="prefixed"), naming=naming) == rights


def test_bl_096_rights_on_all_topics_widen_nothing_and_are_counted():
    made = stage(
        acl("*"), acl("*", "WRITE"), acl("none-", pattern="prefixed"), acl("orders", "WRITE")
    )
    assert set(made.lines(parts=ONLY)) == {
        (
            "ACLs of A->B: 1 not copied: "
            "ALLOW on all topics (*) would also grant access to the target's own topics"
        ),
        "ACLs of A->B: 2 not copied: ALLOW WRITE is never copied: only Isthmus writes copies",
        "ACLs of A->B: 1 not copied: no copied topic has the prefix",
    }
    made.apply(parts=ONLY)
    assert made.target.rights == set()


@pytest.mark.parametrize(
    ("naming", "resources"),
    [("prefix", {"topic A.*"}), ("identity", {"topic orders", "topic fin-a", "topic fin-b"})],
)
def test_a_copy_is_never_more_open_than_its_source(naming, resources):
    found = granted(acl("*", "READ", "eve", "deny"), naming=naming)
    assert found == {f"{each}: deny User:eve to READ" for each in resources}


def test_rights_on_groups_follow_only_if_the_file_says_so():
    rights = (
        acl("billing", kind="group"),
        acl("bill-", "ALL", pattern="prefixed", kind="group"),
        acl("*", kind="group"),
        acl("console-consumer-1", kind="group"),
    )
    assert granted(*rights) == set()
    assert granted(*rights, groups=True) == {
        "group billing: allow User:ann to READ",
        "group bill-*: allow User:ann to READ",
    }


def test_rights_on_clusters_and_transactional_ids_never_follow():
    assert (
        granted(acl("kafka-cluster", "ALL", kind="cluster"), acl("t", kind="transactional_id"))
        == set()
    )


def test_bl_095_later_rounds_send_only_differences():
    many = {acl("orders", user=f"u{each}") for each in range(5000)}
    made = stage(*many)
    made.apply(parts=ONLY)
    assert len(made.target.rights) == 5000
    assert made.target.changed == 1
    made.apply(parts=ONLY)
    assert made.target.changed == 1
    made.clusters["A"].rights.add(acl("orders", user="new"))
    (action,) = made.plan(parts=ONLY).actions
    assert (action.resource, len(action.acls)) == (Resource("topic", "A.orders"), 1)


def test_rights_go_only_if_the_file_says_so_and_only_those_that_we_made():
    for delete, left in ((False, {"ann", "own"}), (True, {"own"})):
        made = stage(acl("orders"), delete=delete)
        made.target.rights.add(acl("A.orders", user="own"))
        made.apply(parts=ONLY)
        made.clusters["A"].rights.discard(acl("orders"))
        if delete:
            assert made.lines(parts=ONLY) == [
                "on topic A.orders no longer allow User:ann to READ (A no longer has these ACLs)"
            ]
        made.apply(parts=ONLY)
        assert made.target.rights == {acl("A.orders", user=each) for each in left}
        assert made.lines(parts=ONLY) == []


def test_a_right_that_was_there_before_is_not_ours_to_take_away():
    made = stage(acl("orders"), delete=True)
    made.target.rights.add(acl("A.orders"))
    made.apply(parts=ONLY)
    made.clusters["A"].rights.discard(acl("orders"))
    assert made.lines(parts=ONLY) == []


def test_a_right_that_others_took_away_comes_back_with_that_reason():
    made = stage(acl("orders"))
    made.apply(parts=ONLY)
    made.target.rights.clear()
    assert made.lines(parts=ONLY) == [
        "on topic A.orders allow User:ann to READ (removed on B since the last apply)"
    ]


def test_nothing_is_taken_away_while_a_source_does_not_answer():
    about = flow(acls=AclSync(delete=True))
    other = flow("C", naming=Naming(kind="identity"))
    source = MemoryCluster({"orders": 1}, rights={UNRELATED, acl("orders")})
    silent = MemoryCluster()
    made = Stage(about, other, A=source, C=silent, B=MemoryCluster(rights=set()))
    made.apply(parts=ONLY)
    source.rights.discard(acl("orders"))
    silent.silent = True
    assert made.lines(parts=ONLY) == []
    silent.silent = False
    assert [type(each) for each in made.plan(parts=ONLY).actions] == [Revoke]


def test_a_right_that_the_target_refuses_is_named_and_the_others_are_made():
    made = stage(acl("orders"), acl("orders", user="bob"))
    made.target.unloved.add("User:bob")
    (outcome,) = made.apply(parts=ONLY)
    assert outcome.problem == "allow User:bob to READ: principal not allowed"
    assert made.target.rights == {acl("A.orders")}
    (record,) = made.clients.records.read("isthmus-status.A.internal").values()
    assert isinstance(record, AppliedAcls)
    assert record.rights == (("User:ann", "*", "READ", "allow"),)
    assert parse(record.key(), record.value()) == record


def test_sc_09_and_bl_093_a_cluster_without_authorizer_is_reported_and_nothing_else():
    expected = {
        "A": Skip(
            "ACLs of A->B",
            "no ACLs to copy: A lists none; it has no authorizer, or no ACLs are set",
        ),
        "B": Skip(
            "ACLs on B",
            "nothing to copy: it has no authorizer, so every user is allowed every operation",
        ),
    }
    for without, action in expected.items():
        made = stage(acl("orders"))
        made.clusters[without].rights = None
        assert made.plan(parts=ONLY).actions == (action,)
        assert not any(each.failed for each in made.apply(parts=ONLY))


def test_nothing_is_taken_away_when_a_source_shows_no_rights_at_all():
    made = stage(acl("orders"), delete=True)
    made.apply(parts=ONLY)
    made.clusters["A"].rights = None
    assert [type(each) for each in made.plan(parts=ONLY).actions] == [Skip]


def test_bl_097_a_missing_right_to_see_rights_holds_nothing_else_up():
    made = stage(acl("orders"))
    made.clusters["A"].counts["fin-new"] = 1

    def refuse(**_: object):
        raise ClusterRejected("reading ACLs at A:9092: Cluster authorization failed")

    made.clusters["A"].acls = refuse
    assert made.lines() == [
        "create A.fin-new: 1 partition, replication factor 1 (A has it and B does not)",
        (
            "ACLs of A->B: not copied: reading ACLs at A:9092: Cluster authorization failed; "
            "Isthmus' user needs DESCRIBE on the cluster"
        ),
    ]


def test_rights_stay_as_they_are_when_their_sync_is_switched_off():
    assert granted(acl("orders"), enabled=False) == set()


def test_what_one_flow_has_lost_stays_while_another_one_wants_it():
    kept = Naming(kind="identity")
    flows = [flow(each, acls=AclSync(delete=True), naming=kept) for each in "AC"]
    sources = [MemoryCluster({"orders": 1}, rights={UNRELATED, acl("orders")}) for _ in flows]
    made = Stage(*flows, A=sources[0], C=sources[1], B=MemoryCluster({"orders": 1}, rights=set()))
    made.apply(parts=ONLY)
    sources[0].rights.discard(acl("orders"))
    assert made.lines("A->B", parts=ONLY) == []
    sources[1].rights.discard(acl("orders"))
    assert made.lines("A->B", parts=ONLY) != []


def test_rights_on_a_topic_that_is_refused_do_not_reach_the_targets_own_topic():
    made = stage(acl("orders"), naming="identity")
    (source,) = made.plan(parts=ONLY).sources
    assert translate(source, [acl("orders")]).acls
    assert not translate(
        replace(source, barred={"orders": "somebody else's"}), [acl("orders")]
    ).acls
