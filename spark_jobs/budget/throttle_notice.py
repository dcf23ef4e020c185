"""Says what quotas of the clusters' brokers cost a flow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.supervision.flow_figures import EpochThrottle

_LEAST_MS = 1_000  # in an epoch: less is no news


def throttle_notice(throttle: EpochThrottle, source: str, target: str) -> str:
    """Return which cluster throttled a flow in its last epoch and for how long; empty: none did."""
    sentences = [
        f"{alias} throttled it for {ms / 1000:.1f} s in the last epoch, by a quota of {alias}"
        for alias, ms in ((source, throttle.source_ms), (target, throttle.target_ms))
        if ms >= _LEAST_MS
    ]
    if throttle.backed_off_to:
        sentences.append(
            f"its byte rate is down to {throttle.backed_off_to:,} bytes/s until {target} "
            "throttles no more"
        )
    return "; ".join(sentences)
