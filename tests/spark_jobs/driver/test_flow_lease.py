"""What a driver's lease takes from the records of its flow's status topic."""

from __future__ import annotations

from support.builders import a_flow

from replication.state import NameDecision
from spark_jobs.driver.flow_lease import FlowLease


class Tail:
    """A status topic whose newest records are ``records``."""

    def __init__(self, *records: NameDecision) -> None:
        self.records = list(records)

    def poll(self) -> list[NameDecision]:
        records, self.records = self.records, []
        return records


def test_a_decision_on_a_name_does_not_change_the_mapping_that_another_thread_reads(monkeypatch):
    lease, first = FlowLease(a_flow(), None, None), NameDecision("A->B", "orders", "a", "b", "keep")
    monkeypatch.setattr(lease, "_tail", Tail(first, NameDecision("X->B", "orders", "a", "b", "")))
    lease.poll()
    before = iter(lease.name_decisions.values())
    second = NameDecision("A->B", "clicks", "a", "b", "reseed")
    monkeypatch.setattr(lease, "_tail", Tail(second))
    lease.poll()
    assert list(before) == [first]
    assert lease.name_decisions == {"orders": first, "clicks": second}
