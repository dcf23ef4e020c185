"""What is one incident, and what is none."""

from __future__ import annotations

import pytest

from orchestration.alerts.conditions import Condition
from orchestration.alerts.incidents import FILE, HOLD_S, START_S, Incident, incidents
from replication.model import Desired

NOW = 10_000_000
LATE = {"lag_sla": "70 s behind", "rpo_slo": "70 s at risk"}


def flow(name: str = "A->B", state: str = "RUNNING", app: str = "B", **more) -> Condition:
    healthy = state in {"RUNNING", "PAUSED"} or (state == "STOPPED" and "desired" in more)
    return Condition(name, app, state, f"{state} because", healthy, **more)


def found(*conditions: Condition, file: str = "") -> dict[str, Incident]:
    return incidents(conditions, file, NOW)


def test_a_hundred_flows_behind_one_dead_cluster_are_one_incident():
    flows = [flow(f"A{n}->B", "UNKNOWN", failed=LATE, silent={"B": "refused"}) for n in range(100)]
    (one,) = found(*flows).values()
    assert (one.subject, one.state, one.reason) == ("cluster B", "UNREACHABLE", "refused")
    assert len(one.flows) == 100
    assert one.hold_s == HOLD_S


def test_flows_of_a_dead_driver_are_one_incident_with_what_is_at_risk_of_each():
    parts = ("orders-0 [5, 9)",)
    one = found(flow(state="DEAD", failed=LATE, at_risk=parts), flow("C->B", "DEAD", at_risk=parts))
    assert list(one) == ["driver of B"]
    assert one["driver of B"].at_risk == ("A->B orders-0 [5, 9)", "C->B orders-0 [5, 9)")


def test_a_flow_is_one_incident_whatever_number_of_its_checks_fail():
    (one,) = found(flow(state="DEGRADED", failed=LATE)).values()
    assert (one.subject, one.hold_s) == ("A->B", 0.0)
    assert one.checks == ("lag_sla", "rpo_slo", "healthy")
    assert one.reason == "70 s behind; 70 s at risk; DEGRADED because"


def test_a_broken_file_is_one_incident_of_all_flows():
    failed = {"file_in_force": "f:3: x"}
    all_of_it = found(flow(failed=failed), flow("C->B", failed=failed), file="f:3: x")
    assert list(all_of_it) == [FILE]
    assert list(found(flow(failed=failed))) == ["A->B"], "another file than the driver's"


@pytest.mark.parametrize("desired", [Desired.PAUSE, Desired.STOP])
def test_a_flow_that_was_paused_or_stopped_is_not_behind(desired):
    state = {Desired.PAUSE: "PAUSED", Desired.STOP: "STOPPED"}[desired]
    assert found(flow(state=state, desired=desired, failed=LATE)) == {}
    changing = flow(state="RUNNING", desired=desired, failed={**LATE, "healthy": "changing"})
    assert found(changing) == {}
    lost = found(flow(state=state, desired=desired, failed={"nothing_lost": "orders-0 [1, 2)"}))
    assert lost["A->B"].checks == ("nothing_lost",)


@pytest.mark.parametrize("state", ["STARTING", "STOPPED", "STOPPING"])
def test_a_flow_that_begins_has_three_minutes(state):
    assert found(flow(state=state, failed=LATE))["A->B"].hold_s == START_S


def test_a_flow_that_was_just_resumed_has_three_minutes_to_catch_up():
    resumed = flow(failed=LATE, asked_ms=NOW - 5_000)
    assert found(resumed)["A->B"].hold_s == START_S
    assert found(flow(failed=LATE, asked_ms=NOW - 200_000))["A->B"].hold_s == 0.0
    assert found(flow(state="DEGRADED"))["A->B"].hold_s == HOLD_S


def test_a_loss_is_told_at_once_also_at_a_start():
    lost = {"nothing_lost": "orders-0 [1, 2)"}
    assert found(flow(state="STARTING", failed=lost))["A->B"].hold_s == 0.0


def test_an_address_that_leads_to_another_cluster_is_told_at_once_with_that_reason_alone():
    one = found(flow(state="WRONG_CLUSTER", failed=LATE, asked_ms=NOW - 5_000))["A->B"]
    assert (one.checks, one.reason, one.hold_s) == (("healthy",), "WRONG_CLUSTER because", 0.0)


def test_what_waits_for_a_person_is_told_at_once_also_after_a_resume():
    halted = (("orders", "TARGET_RESET"), ("stock", "WAITING"))
    one = found(flow(state="DEGRADED", halted=halted, asked_ms=NOW - 5_000))["A->B"]
    assert (one.hold_s, one.halted) == (0.0, halted)
    assert found(flow(state="DEGRADED", halted=halted[1:]))["A->B"].hold_s == HOLD_S
    assert (
        found(flow(state="RUNNING", halted=halted, failed={"nothing_lost": "x"}))["A->B"].halted
        == ()
    ), "they are no part of it"
