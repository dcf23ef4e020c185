"""Faults of the network between Isthmus and a cluster: delay, blocks, cuts, wrong ways."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chaos.faults.scene import side_of
from chaos.schedule import FaultKind, Side
from replication.model import FlowState

if TYPE_CHECKING:
    from chaos.faults.scene import Scene
    from chaos.proxy import Proxy
    from chaos.schedule import ScheduledFault

_DELAY_S = 0.1
_LOSS = 0.02
_REPORTED_S = 25.0


def slow(scene: Scene, fault: ScheduledFault) -> str:
    """Delay everything by 100 ms, and some of it by a retransmission."""
    chosen = _proxies(scene, fault)
    for each in chosen:
        each.weather.delay_s, each.weather.loss = _DELAY_S, _LOSS
    try:
        scene.stage.over.wait(fault.for_s)
    finally:
        for each in chosen:
            each.weather.delay_s = each.weather.loss = 0.0
    return f"{_DELAY_S * 1000:.0f} ms each way for {fault.for_s:.0f} s"


def block(scene: Scene, fault: ScheduledFault) -> str:
    """Let nothing through for a while: to one broker, or to all."""
    chosen = _proxies(scene, fault)
    if fault.pick % 2:
        chosen = [chosen[fault.pick % len(chosen)]]
    for each in chosen:
        each.block()
    try:
        scene.stage.over.wait(fault.for_s)
    finally:
        for each in chosen:
            each.unblock()
    return f"to {len(chosen)} of {scene.stage.brokers} brokers for {fault.for_s:.0f} s"


def cut(scene: Scene, fault: ScheduledFault) -> str:
    """Reset all connections, or leave them half open."""
    chosen = _proxies(scene, fault)
    act = (
        (lambda each: each.strand())
        if fault.kind is FaultKind.STRAND
        else (lambda each: each.cut())
    )
    return f"{sum(map(act, chosen))} of them"


def swap(scene: Scene, fault: ScheduledFault) -> str:
    """Let the address lead to the other cluster for a while, as after a switch of a DNS name.

    The flow must say so if a driver runs all the time, and go on by itself afterwards.
    """
    monitor, side, began = scene.monitor, side_of(fault), time.monotonic()
    first, chosen = monitor.status.instance, _proxies(scene, fault)
    other = scene.stage.proxies[Side.TARGET if side is Side.SOURCE else Side.SOURCE]
    behind = [each.behind for each in chosen]
    _lead(chosen, [each.behind for each in other])
    try:
        reported = monitor.await_state(FlowState.WRONG_CLUSTER, fault.for_s)
        took = time.monotonic() - began
        scene.stage.over.wait(max(0.0, fault.for_s - took))
        silent = not reported and time.monotonic() - began >= _REPORTED_S
        if silent and monitor.status.instance == first and monitor.is_running():
            scene.problems.append(f"a swapped address was not said in {fault.for_s:.0f} s")
    finally:
        _lead(chosen, behind)
    outcome = f"the flow says so after {took:.0f} s" if reported else "not said"
    return f"for {fault.for_s:.0f} s; {outcome}"


def _lead(proxies: list[Proxy], behind: list[tuple[str, int]]) -> None:
    for proxy, address in zip(proxies, behind, strict=True):
        proxy.behind = address
        proxy.cut()


def _proxies(scene: Scene, fault: ScheduledFault) -> list[Proxy]:
    return scene.stage.proxies[side_of(fault)]
