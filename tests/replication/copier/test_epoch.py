"""The grace period of a unit that was frozen."""

from __future__ import annotations

import asyncio

import pytest
from support.copier.two_clusters import a_spec

from replication.client.moment import Moment
from replication.copier.epoch import EpochTimer


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
