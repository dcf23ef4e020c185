"""Which alerts are told, tick by tick."""

from __future__ import annotations

import json
from dataclasses import replace

from orchestration.alerts.alert import PROBLEM, RESOLVED
from orchestration.alerts.incidents import Incident
from orchestration.alerts.transitions import (
    AT_ONCE,
    CLEAR_S,
    FLAP_S,
    FLAPS,
    MORE_S,
    MOST,
    WINDOW_S,
    AlertMemory,
    transitions,
)

LATE = Incident("A->B", "RUNNING", "70 s behind", ("lag_sla",), ("A->B",), ("orders-0 [5, 9)",))


class Clock:
    """Runs ticks, as a sensor does: what is remembered goes through a cursor's JSON."""

    def __init__(self) -> None:
        self.now_s, self.cursor = 1_000_000.0, ""

    def tick(self, *now: Incident, after_s: float = 10, state: str = "RUNNING: well") -> list:
        self.now_s += after_s
        memory = AlertMemory.parse(json.loads(self.cursor or "null"))
        current = {each.subject: each for each in now}
        told, memory = transitions(
            current, {"A->B": state}, memory, int(self.now_s * 1000), "docs/runbooks.md"
        )
        self.cursor = json.dumps(memory.dump())
        return [(each.kind, each.subject) for each in told] if not self.full else list(told)

    full = False


def test_an_incident_is_told_when_it_begins_and_when_it_ends_and_not_between():
    clock = Clock()
    assert clock.tick(LATE) == [(PROBLEM, "A->B")]
    assert clock.tick(LATE) == []
    assert clock.tick() == []
    assert clock.tick(after_s=CLEAR_S) == [(RESOLVED, "A->B")]
    assert clock.tick() == []


def test_an_alert_says_state_since_what_is_at_risk_and_what_to_do():
    clock = Clock()
    clock.full = True
    (alert,) = clock.tick(LATE)
    assert alert.text.splitlines() == [
        "A->B is RUNNING (lag_sla failed)",
        "reason: 70 s behind",
        "since: 1970-01-12 13:46:50 UTC (0 s ago)",
        "at risk: orders-0 [5, 9)",
        "do: see where it lags: `isthmus status FILE`; give it more units",
        "runbook: docs/runbooks.md#a-flow-is-behind",
    ]
    assert (alert.state, alert.flows, alert.at_risk) == ("RUNNING", ("A->B",), LATE.at_risk)
    clock.tick()
    (over,) = clock.tick(after_s=CLEAR_S, state="PAUSED: paused by ann")
    assert over.text.splitlines()[:2] == ["A->B: resolved", "now: PAUSED: paused by ann"]


def test_what_does_not_last_is_not_told_and_has_no_end():
    held = Incident("A->B", "STARTING", "the driver is starting", hold_s=180)
    clock = Clock()
    assert [clock.tick(held) for _ in range(18)] == [[]] * 18
    assert clock.tick() == []
    assert clock.tick(held, after_s=170) == [], "it begins anew"
    assert clock.tick(held, after_s=179) == []
    assert clock.tick(held, after_s=1) == [(PROBLEM, "A->B")]


def test_a_moment_without_it_is_not_its_end():
    clock = Clock()
    clock.tick(LATE)
    assert clock.tick() == []
    assert clock.tick(LATE) == []
    assert clock.tick() == []
    assert clock.tick(after_s=CLEAR_S) == [(RESOLVED, "A->B")]


def test_what_comes_and_goes_is_told_some_times_and_then_only_when_it_lasts():
    clock, told = Clock(), []
    for _ in range(FLAPS + 3):
        told += [*clock.tick(LATE), *clock.tick(), *clock.tick(after_s=CLEAR_S)]
    assert told == [(PROBLEM, "A->B"), (RESOLVED, "A->B")] * FLAPS
    assert clock.tick(LATE) == []
    assert clock.tick(LATE, after_s=FLAP_S) == [(PROBLEM, "A->B")]


def test_many_at_once_are_told_as_one():
    many = [Incident(f"A{n}->B", "RUNNING", "late") for n in range(AT_ONCE + 1)]
    clock = Clock()
    assert clock.tick(*many) == [(PROBLEM, f"{AT_ONCE + 1} incidents")]
    clock.tick()
    assert clock.tick(after_s=CLEAR_S) == [(RESOLVED, f"{AT_ONCE + 1} incidents")]


def test_beyond_the_limit_an_incident_waits_and_is_told_if_it_is_still_there():
    clock = Clock()
    now: list[Incident] = []
    for n in range(MOST):
        now.append(Incident(f"A{n}->B", "RUNNING", "late"))
        assert len(clock.tick(*now)) == 1
    late = [*now, LATE]
    assert clock.tick(*late) == []
    assert clock.tick(*late, after_s=WINDOW_S) == [(PROBLEM, "A->B")]


def degraded(*halted: tuple[str, str]) -> Incident:
    return Incident("A->B", "DEGRADED", "why", ("healthy",), ("A->B",), halted=halted)


def test_an_alert_names_the_topics_that_are_not_copied_by_state():
    clock = Clock()
    clock.full = True
    (alert,) = clock.tick(degraded(("orders", "TARGET_RESET"), ("stock", "REFUSED")))
    assert "not copied: REFUSED: stock; TARGET_RESET: orders" in alert.text.splitlines()
    assert alert.halted == ("orders TARGET_RESET", "stock REFUSED")


def test_another_state_is_told_at_once_and_more_topics_in_a_known_one_after_five_minutes():
    clock, first, same = Clock(), ("orders", "REFUSED"), ("stock", "REFUSED")
    assert clock.tick(degraded(first)) == [(PROBLEM, "A->B")]
    assert clock.tick(degraded(first)) == []
    assert clock.tick(degraded(first, ("carts", "TARGET_RESET"))) == [(PROBLEM, "A->B")]
    assert clock.tick(degraded(first, same)) == []
    assert clock.tick(degraded(first, same), after_s=MORE_S) == [(PROBLEM, "A->B")]
    assert clock.tick(degraded(first, same), after_s=MORE_S) == []
    assert clock.tick(degraded(first), after_s=MORE_S) == [], "less is no news"


def test_a_cursor_of_an_older_release_keeps_what_was_told():
    clock = Clock()
    clock.tick(LATE)
    stored = json.loads(clock.cursor)
    for each in stored["known"].values():
        del each["named"]
    clock.cursor = json.dumps(stored)
    assert clock.tick(LATE) == []


def test_what_is_wrong_with_a_flow_is_not_resolved_when_its_driver_dies():
    clock, dead = Clock(), Incident("driver of B", "DEAD", "why", ("healthy",), ("A->B",))
    first = degraded(("orders", "REFUSED"))
    assert clock.tick(first) == [(PROBLEM, "A->B")]
    assert clock.tick(dead) == [(PROBLEM, "driver of B")]
    assert clock.tick(dead, after_s=CLEAR_S) == clock.tick(dead, after_s=CLEAR_S) == []
    assert clock.tick(first) == []
    assert clock.tick(first, after_s=CLEAR_S) == [(RESOLVED, "driver of B")]
    clock.tick()
    assert clock.tick(after_s=CLEAR_S) == [(RESOLVED, "A->B")]


def test_a_clock_that_is_set_back_puts_no_alert_off():
    clock = Clock()
    held = replace(LATE, hold_s=20.0)
    clock.now_s += 7200
    clock.tick(held)
    clock.now_s -= 7200
    assert clock.tick(held) == []
    assert clock.tick(held, after_s=20) == [(PROBLEM, "A->B")]
    clock.now_s += 7200
    clock.tick()
    clock.now_s -= 7200
    clock.tick()
    assert clock.tick(after_s=CLEAR_S) == [(RESOLVED, "A->B")]


def test_alerts_of_a_clock_that_was_ahead_do_not_use_the_limit_up_for_longer():
    clock = Clock()
    clock.now_s += 7200
    for number in range(MOST):
        clock.tick(replace(LATE, subject=f"flow {number}"))
    clock.now_s -= 7200
    assert clock.tick(LATE) == []
    assert (PROBLEM, "A->B") in clock.tick(LATE, after_s=WINDOW_S)
