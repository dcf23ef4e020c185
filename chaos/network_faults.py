"""Faults of the network between Isthmus and a cluster: delay, blocks, cut connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.schedule import Kind

if TYPE_CHECKING:
    from chaos.process_faults import Scene
    from chaos.proxy import Proxy
    from chaos.schedule import Fault

_DELAY_S = 0.1
_LOSS = 0.02


def slow(scene: Scene, fault: Fault) -> str:
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


def block(scene: Scene, fault: Fault) -> str:
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


def cut(scene: Scene, fault: Fault) -> str:
    """Reset all connections, or leave them half open."""
    chosen = _proxies(scene, fault)
    act = (lambda each: each.strand()) if fault.kind is Kind.STRAND else (lambda each: each.cut())
    return f"{sum(map(act, chosen))} of them"


def _proxies(scene: Scene, fault: Fault) -> list[Proxy]:
    if fault.side is None:
        raise ValueError(f"{fault.kind} without a cluster")
    return scene.stage.proxies[fault.side]
