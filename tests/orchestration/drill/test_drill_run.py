"""A drill that is interrupted."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestration.drill.drill import DrillRun
from replication.errors import ClusterUnavailable
from replication.recovery.drill import DrillOptions


@pytest.mark.parametrize(
    ("problem", "raised"),
    [(KeyboardInterrupt(), KeyboardInterrupt), (ClusterUnavailable("A"), ClusterUnavailable)],
)
def test_an_interrupt_is_not_hidden_by_a_target_that_is_silent_at_its_end(
    monkeypatch, problem, raised
):
    """The command would begin the next drill."""

    def fails(*_, **__):
        raise problem

    def silent(*_):
        raise ClusterUnavailable("B does not answer")

    operator = SimpleNamespace(last=lambda: None, take=lambda *_: None, carry_out=fails)
    for name, stands_in in {
        "refuse_in_need": lambda _: None,
        "_steps": lambda *_: None,
        "_works": lambda *_: {},
        "steps": lambda _: (),
        "_ended": silent,
    }.items():
        monkeypatch.setattr(DrillRun, name, stands_in)
    with pytest.raises(raised):
        DrillRun(None, None, None, operator, DrillOptions()).carry_out()
