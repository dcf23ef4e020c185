"""Faults wait while nothing is copied for long, and go on when something is."""

from __future__ import annotations

from chaos.fault_clock import PATIENCE_S, FaultClock


def test_while_records_are_copied_all_time_counts():
    clock = FaultClock()
    assert [clock.at(100.0 + n, n) for n in range(4)] == [0.0, 1.0, 2.0, 3.0]


def test_a_long_time_without_a_copied_record_does_not_count_until_one_is():
    clock, stood = FaultClock(), PATIENCE_S + 40
    times = [clock.at(float(n), 7) for n in range(int(stood))]
    assert times[-1] == times[-10] == PATIENCE_S - 1
    assert clock.at(stood, 8) == PATIENCE_S
    assert clock.at(stood + 1, 8) == PATIENCE_S + 1


def test_fewer_records_than_before_are_copied_ones_too():
    """A partition whose state was lost begins to count anew."""
    clock = FaultClock()
    for n in range(int(PATIENCE_S) + 5):
        clock.at(float(n), 7)
    stood = clock.at(PATIENCE_S + 5, 3)
    assert clock.at(PATIENCE_S + 6, 3) == stood + 1
