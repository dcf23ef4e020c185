"""The grace period of a unit that was frozen, and who ends a unit."""

from __future__ import annotations

import asyncio
import re

import pytest
from support.copier.two_clusters import a_spec

from replication.client.moment import Moment
from replication.copier.epoch import EpochTimer
from replication.errors import FlowTaken
from replication.state import FlowStatus


@pytest.mark.parametrize(
    ("frozen_s", "ends"), [(0.0, False), (4.0, False), (6.0, True), (3600.0, True)]
)
def test_a_unit_that_was_frozen_beyond_its_grace_period_ends_with_its_epoch(
    monkeypatch, frozen_s, ends
):
    """BL-218: meanwhile another process may have got the unit."""

    async def ended() -> bool:
        timer = EpochTimer(a_spec(epoch_s=30, grace_s=5.0))
        timer.begin(timer.spec)
        then = Moment.now()
        later = Moment(then.running + 30 + frozen_s, then.wall)
        monkeypatch.setattr(Moment, "now", classmethod(lambda _: later))
        timer.end_epoch()
        assert timer.over.is_set()
        timer.close()
        return timer.ended.is_set()

    assert asyncio.run(ended()) is ends


@pytest.mark.parametrize(
    ("host", "pid", "who"),
    [("b", 7, "the driver on b (process 7)"), ("ada@b", 0, "ada@b")],
    ids=["another driver", "an operator who fails over"],
)
def test_it_says_who_has_taken_its_flow_over(host, pid, who):
    spec = a_spec(generation=3)
    status = FlowStatus(spec.flow, generation=4, host=host, pid=pid)
    with pytest.raises(
        FlowTaken, match=f"^{re.escape(f'{spec.flow}: {who} took over (generation 4); ')}"
    ):
        EpochTimer(spec).on_record(status)
