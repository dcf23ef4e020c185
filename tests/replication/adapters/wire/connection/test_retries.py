"""The pauses between attempts."""

from __future__ import annotations

import asyncio

from replication.adapters.wire.connection import retries


def test_attempts_pause_longer_each_time_and_end_after_15_s(monkeypatch):
    now, pauses = [100.0], []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        now[0] += pause_s

    monkeypatch.setattr(retries.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(retries.asyncio, "sleep", sleep)

    async def run() -> list[int]:
        return [each async for each in retries.attempts()]

    numbers = asyncio.run(run())
    assert pauses[:7] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0]
    assert set(pauses[7:]) == {1.0}
    assert numbers == list(range(len(pauses) + 1))
    assert 15 < sum(pauses) < 16.1
