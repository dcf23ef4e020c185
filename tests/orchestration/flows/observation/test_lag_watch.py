"""Lag from one look to the next, while a cluster is silent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.fakes.fake_flows import World
from support.settings.configs import a_config

from orchestration.flows.observation import flow_reader
from orchestration.flows.observation.flow_reader import look_at
from orchestration.flows.observation.lag_watch import LagWatch
from replication.clock import now_ms
from replication.supervision.lag import evaluate_sla


@pytest.mark.parametrize("side", ["source", "target"])
def test_bl_229_lag_is_not_known_while_a_cluster_is_silent_and_counts_from_the_cut_on(
    side, monkeypatch
):
    world = World(a_config())
    world.copy(records=100, end=100, age_s=600)
    flow, watch, now = world.config.flows[0], LagWatch(), now_ms()
    monkeypatch.setattr(flow_reader, "now_ms", lambda: now)
    seen = watch.lag(look_at(flow, world))
    assert (seen.records, seen.seconds) == (0, 0.0)
    cut, silent = now, world.origin if side == "source" else world.target
    silent.silent = True
    world.origin.ends = dict.fromkeys(world.origin.ends, 150)
    for _ in range(3):
        now += 40_000
        look = look_at(flow, world)
        lag = watch.lag(look)
        assert (lag.seconds, lag.unknown_since_ms) == (None, cut)
        verdict = evaluate_sla(lag, timedelta(seconds=60), look.up_s, look.silence)
        assert verdict.passed is (now - cut < 60_000)
        assert f"{lag.unknown_since}: {side} cluster" in verdict.reason
        assert ": 0.0 s behind" not in verdict.reason
    silent.silent = False
    lag = watch.lag(look_at(flow, world))
    assert (lag.records, lag.seconds) == (50, 120.0)
