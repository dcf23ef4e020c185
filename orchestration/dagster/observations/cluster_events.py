"""Events about one cluster: its facts, and whether it answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.dagster.assets import cluster_key

if TYPE_CHECKING:
    from replication.client.cluster_facts import ClusterFacts

ANSWERS_CHECK = "answers"
SAMPLE_MS = 1_800_000
CLOCK_STEP_MS = 10_000  # a smaller change is no event
CLOCK_LIMIT_MS = 60_000  # beyond it lag in seconds and retention are wrong by a minute

Event = dg.AssetObservation | dg.AssetCheckEvaluation


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """What one look at a cluster found: its facts, or why it did not answer."""

    alias: str
    facts: ClusterFacts | None
    silence: str = ""

    @property
    def verdict(self) -> tuple[bool, str]:
        """Whether the cluster answers, with a clock that can be compared; and the reason."""
        if self.facts is None:
            return False, f"cluster {self.alias} does not answer: {self.silence}"
        brokers = f"{len(self.facts.brokers)} brokers answer"
        ahead_ms = self.facts.clock_ahead_ms
        if ahead_ms is not None and abs(ahead_ms) > CLOCK_LIMIT_MS:
            return False, f"{brokers}, but {_clock(ahead_ms)}: set both by NTP"
        return True, f"{brokers}, Kafka {_version(self.facts)}"

    @property
    def fingerprint(self) -> str:
        """What is compared with the last look: a change is reported at once."""
        if self.facts is None:
            return "does not answer"
        facts, ahead_ms = self.facts, self.facts.clock_ahead_ms
        clock = "" if ahead_ms is None else str(round(ahead_ms / CLOCK_STEP_MS))
        brokers = ",".join(map(str, facts.brokers))
        known = (facts.cluster_id, _version(facts), brokers, facts.controller, clock)
        return "|".join(map(str, (*known, self.verdict[0])))


def cluster_events(look: ClusterLook, *, due: bool) -> list[Event]:
    """Return the observation of a cluster and its check; ``due``: nothing changed."""
    key, (passed, reason) = cluster_key(look.alias), look.verdict
    return [
        dg.AssetObservation(
            key, description=f"{reason}{'' if due else ' (changed)'}", metadata=_metadata(look)
        ),
        dg.AssetCheckEvaluation(key, ANSWERS_CHECK, passed, description=reason),
    ]


def check_result(look: ClusterLook) -> dg.AssetCheckResult:
    """Return the result for a check that was run by a person."""
    passed, reason = look.verdict
    return dg.AssetCheckResult(
        passed=passed,
        asset_key=cluster_key(look.alias),
        check_name=ANSWERS_CHECK,
        description=reason,
        metadata=_metadata(look),
    )


def _metadata(look: ClusterLook) -> dict[str, Any]:
    facts = look.facts
    if facts is None:
        return {"answers": False, "reason": look.silence}
    found: dict[str, Any] = {
        "answers": True,
        "version": _version(facts),
        "cluster id": facts.cluster_id,
        "brokers": len(facts.brokers),
        "addresses": ", ".join(f"{node} {where}" for node, where in facts.brokers.items()),
        "controller": "unknown" if facts.controller is None else str(facts.controller),
    }
    if facts.clock_ahead_ms is not None:
        found["clock ahead in seconds"] = facts.clock_ahead_ms / 1000
    found |= {f"{name} is not known": why for name, why in facts.unknown.items()}
    return found


def _version(facts: ClusterFacts) -> str:
    return ".".join(map(str, facts.version)) or "unknown"


def _clock(ahead_ms: int) -> str:
    where = "ahead of" if ahead_ms > 0 else "behind"
    return f"the controller's clock is {abs(ahead_ms) / 1000:.0f} s {where} this machine's"
