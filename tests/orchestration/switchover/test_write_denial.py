"""Denials of writes on a source: noted before they are made, taken back by whoever finds them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_admin import MemoryCluster

from orchestration.switchover.write_denial import WriteDenial
from replication.errors import ClusterRejected, NoAuthorizer
from replication.recovery.switchover import EVERYBODY, denials, denied_topics
from replication.state import Operation


class Noting:
    """An operator whose record is a variable; ``seen``: the rights when it was last amended."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.operation = Operation("A->B", "op")
        self.seen: set = set()

    def amend(self, **changes: object) -> Operation:
        self.seen = set(self.cluster.rights or ())
        self.operation = replace(self.operation, **changes)
        return self.operation


def a_denial(**cluster) -> tuple[WriteDenial, Noting, MemoryCluster]:
    source = MemoryCluster(**cluster)
    operator = Noting(source)
    return WriteDenial(source, "A", operator), operator, source


def test_a_denial_is_in_the_record_before_it_is_made_and_taken_back_by_it():
    denial, operator, source = a_denial()
    before = set(source.rights)
    assert denial.deny(operator.operation, {"a", "b"}) == "denied writes to 2 topics on A"
    assert operator.seen == before
    assert denied_topics(operator.operation.options) == {"a", "b"}
    assert source.rights == before | denials(["a", "b"])
    denial.take_back(operator.operation)
    assert source.rights == before


def test_a_denial_that_somebody_else_made_stays():
    denial, operator, source = a_denial()
    source.rights |= denials(["b"])
    denial.deny(operator.operation, {"a", "b"})
    denial.take_back(operator.operation)
    assert source.rights >= denials(["b"])
    assert not denials(["a"]) & source.rights


def test_another_operator_that_repeats_the_step_keeps_what_the_first_one_noted():
    denial, operator, source = a_denial()
    denial.deny(operator.operation, {"a"})
    denial.deny(operator.operation, {"a", "b"})
    assert denied_topics(operator.operation.options) == {"a", "b"}
    denial.take_back(operator.operation)
    assert not denials(["a", "b"]) & source.rights


def test_a_cluster_without_authorizer_denies_nothing():
    denial, operator, _ = a_denial(rights=None)
    with pytest.raises(NoAuthorizer):
        denial.require_possible()
    with pytest.raises(NoAuthorizer):
        denial.deny(operator.operation, {"a"})
    assert denied_topics(operator.operation.options) == frozenset()


def test_a_denial_that_is_rejected_names_the_topic():
    denial, operator, _ = a_denial(unloved={EVERYBODY})
    with pytest.raises(ClusterRejected, match="denying writes on A: topic a: principal not"):
        denial.deny(operator.operation, {"a"})
