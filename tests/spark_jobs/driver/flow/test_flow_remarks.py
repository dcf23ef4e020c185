"""What operators are told of a flow that copies."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from support.settings.configs import a_flow

from replication.supervision.flow_figures import EpochThrottle, FlowCounters
from spark_jobs.driver.flow.flow_remarks import FlowRemarks

LEASE = SimpleNamespace(missing_guarantees="", probe_problem="")
PLAN = SimpleNamespace(partitions=(), remark="", absent=())
THROTTLED = FlowCounters(throttle=EpochThrottle(0, 9_000, 100_000))


def test_a_flow_that_is_throttled_says_by_whom_and_no_more_when_it_is_not():
    remarks = FlowRemarks(a_flow())
    reported = remarks.notice(PLAN, LEASE, THROTTLED, "")
    assert reported.startswith("B throttled it for 9.0 s in the last epoch")
    assert remarks.notice(PLAN, LEASE, FlowCounters(), "") == ""


def test_a_flow_says_each_of_its_remarks():
    plan = SimpleNamespace(partitions=(), remark="2 topics wait", absent=())
    reported = FlowRemarks(a_flow()).notice(
        plan, LEASE, THROTTLED, "the disk of B's broker 1 fills"
    )
    throttled, disk, topics = reported.split("; ")[0], *reported.split("; ")[-2:]
    assert throttled.startswith("B throttled it")
    assert (disk, topics) == ("the disk of B's broker 1 fills", "2 topics wait")


def test_what_is_remarked_follows_an_edit_of_the_delivery_guarantee():
    flow, tally = a_flow(), FlowCounters(at_least_once=1)
    remarks = FlowRemarks(flow)
    before = remarks.notice(PLAN, LEASE, tally, "")
    copying = replace(flow.copying, delivery="at-least-once")
    remarks.follow(flow.model_copy(update={"copying": copying}))
    assert remarks.notice(PLAN, LEASE, tally, "") != before
