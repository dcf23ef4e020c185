"""Judges what a cluster says of itself: version, brokers, disks, quotas, clock. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from replication.client.cluster_facts import ClusterFacts, LogDir, Quota, Version
    from replication.settings.flow_settings import Flow

OLDEST: Version = (3, 1)  # the first with fetch by topic id (KIP-516), which the engine needs
FEW_BROKERS = 3
LITTLE, VERY_LITTLE = 0.10, 0.03  # of a disk that is free
CLOCK_SKEW_MS, LARGE_CLOCK_SKEW_MS = 2_000, 60_000  # of two clocks
_QUOTAS = {
    "consumer_byte_rate": "limits how fast records are read",
    "producer_byte_rate": "limits how fast records are written",
    "request_percentage": "limits the time that brokers spend on requests",
}


@dataclass(frozen=True, slots=True)
class Use:
    """What a file does with a cluster: flows that read it, flows that write it, users' names."""

    cluster: str
    reads: tuple[Flow, ...] = ()
    writes: tuple[Flow, ...] = ()
    users: frozenset[str] = frozenset()

    @property
    def where(self) -> str:
        return f"cluster {self.cluster}"


def judge_cluster(
    use: Use, facts: ClusterFacts, versions: Iterable[Version]
) -> Iterator[DiagnosisFinding]:
    """Yield findings about one cluster; ``versions`` of the brokers that were connected to."""
    yield from _versions(use.where, sorted(set(versions)))
    yield from _brokers(use, len(facts.brokers))
    yield from _disks(use, facts.log_dirs)
    yield from _quotas(use, facts.quotas)
    yield from _clock(use.where, facts.clock_ahead_ms)
    for check, why in facts.unknown.items():
        yield DiagnosisFinding(FindingLevel.NOTE, use.where, check, f"not known: {why}")


def _versions(where: str, versions: list[Version]) -> Iterator[DiagnosisFinding]:
    if not versions:
        return
    named = some(".".join(map(str, each)) for each in versions)
    if versions[0] < OLDEST:
        least = ".".join(map(str, OLDEST))
        to_do = f"upgrade the brokers to {least} or newer"
        yield DiagnosisFinding(
            FindingLevel.ERROR, where, "version", f"Kafka {named} is too old", to_do
        )
    elif len(versions) > 1:
        yield DiagnosisFinding(
            FindingLevel.NOTE, where, "version", f"brokers differ: Kafka {named}"
        )
    else:
        yield DiagnosisFinding(FindingLevel.OK, where, "version", f"Kafka {named}")


def _brokers(use: Use, count: int) -> Iterator[DiagnosisFinding]:
    factors = [(each.creation.replication_factor, each.name) for each in use.writes]
    too_many = [(factor, flow) for factor, flow in factors if factor > count]
    for factor, flow in too_many:
        yield DiagnosisFinding(
            FindingLevel.ERROR,
            use.where,
            "replication factor",
            f"{flow} creates topics with replication.factor = {factor}, and there are {count} "
            "brokers",
            f"set replication.factor to {count} or less, or to -1 for the cluster's default; or "
            "add brokers",
        )
    single = [flow for factor, flow in factors if factor == 1 < count]
    if single:
        yield DiagnosisFinding(
            FindingLevel.WARNING,
            use.where,
            "replication factor",
            f"{some(single)}: replication.factor = 1, so the loss of one broker loses copies",
            f"set replication.factor to {min(count, FEW_BROKERS)}",
        )
    if use.writes and count < FEW_BROKERS:
        yield DiagnosisFinding(
            FindingLevel.NOTE,
            use.where,
            "brokers",
            f"{count} broker(s): Isthmus' own topics get replication factor {count} instead of "
            f"{FEW_BROKERS}",
        )
    elif not too_many and not single:
        yield DiagnosisFinding(FindingLevel.OK, use.where, "brokers", f"{count} brokers")


def _disks(use: Use, found: Iterable[LogDir]) -> Iterator[DiagnosisFinding]:
    free: list[tuple[float, LogDir]] = []
    for each in found:
        if each.problem:
            what = f"broker {each.broker}: log directory {each.path} is offline: {each.problem}"
            yield DiagnosisFinding(
                FindingLevel.ERROR, use.where, "disk", what, "replace the disk of this broker"
            )
        elif each.usable_bytes is not None and each.total_bytes:
            free.append((each.usable_bytes / each.total_bytes, each))
    if not free:
        return
    share, least = min(free, key=lambda each: each[0])
    level = FindingLevel.OK
    if use.writes and share < LITTLE:
        level = FindingLevel.ERROR if share < VERY_LITTLE else FindingLevel.WARNING
    what = (
        f"broker {least.broker}: {(least.usable_bytes or 0) / 1e9:,.1f} GB of "
        f"{(least.total_bytes or 0) / 1e9:,.1f} GB are free in {least.path}"
    )
    to_do = "free space, shorten retention or add brokers: a broker stops when its disk is full"
    yield DiagnosisFinding(
        level, use.where, "disk", what, "" if level is FindingLevel.OK else to_do
    )


def _quotas(use: Use, found: Iterable[Quota]) -> Iterator[DiagnosisFinding]:
    for each in found:
        if not _concerns(each, use.users):
            continue
        for key, effect in _QUOTAS.items():
            if (value := each.values.get(key)) is None or not _acts(key, use):
                continue
            shown = f"{value:g} %" if key == "request_percentage" else f"{value / 1e6:g} MB/s"
            whom = ", ".join(f"{kind} {name or '(default)'}" for kind, name in each.entity)
            what = f"quota {key} = {shown} a broker for {whom} {effect}"
            yield DiagnosisFinding(FindingLevel.NOTE, use.where, "quota", what)


def _concerns(quota: Quota, users: frozenset[str]) -> bool:
    """Whether a quota may concern us; a user that is not known may be any."""
    entity = dict(quota.entity)
    if entity.keys() & {"ip"}:
        return False
    client = entity.get("client-id")
    if client is not None and not client.startswith("isthmus"):
        return False
    user = entity.get("user")
    return user is None or not users or user in users


def _acts(key: str, use: Use) -> bool:
    if key == "producer_byte_rate":
        return bool(use.writes)
    return key != "consumer_byte_rate" or bool(use.reads)


def _clock(where: str, ahead_ms: int | None) -> Iterator[DiagnosisFinding]:
    if ahead_ms is None:
        return
    skew_ms = abs(ahead_ms)
    direction = "ahead of" if ahead_ms > 0 else "behind"
    what = f"the controller's clock is {skew_ms / 1000:.1f} s {direction} this machine's"
    if skew_ms < CLOCK_SKEW_MS:
        yield DiagnosisFinding(FindingLevel.OK, where, "clock", what)
        return
    level = FindingLevel.ERROR if skew_ms >= LARGE_CLOCK_SKEW_MS else FindingLevel.WARNING
    to_do = "set both by NTP: lag and retention are computed from timestamps"
    yield DiagnosisFinding(level, where, "clock", what, to_do)
