"""Time that passed while nothing ran."""

from __future__ import annotations

import pytest

from replication.client.moment import Moment


@pytest.mark.parametrize(
    ("running", "wall", "elapsed"),
    [
        pytest.param(5.0, 5.0, 5.0, id="both clocks"),
        pytest.param(60.0, 60.0, 60.0, id="stopped, or suspended"),
        pytest.param(0.0, 60.0, 60.0, id="paused by the hypervisor"),
        pytest.param(60.0, -3600.0, 60.0, id="the wall clock was set back"),
    ],
)
def test_the_clock_that_counted_more_says_how_long_it_was(monkeypatch, running, wall, elapsed):
    then = Moment(100.0, 1000.0)
    monkeypatch.setattr(Moment, "now", classmethod(lambda cls: cls(100 + running, 1000 + wall)))
    assert then.elapsed_s() == elapsed


def test_now_is_not_before_what_was_now():
    assert 0 <= Moment.now().elapsed_s() < 60
