"""A unit's work for one epoch, and its report: values that Spark tasks and JSON carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.model import Mode, PartitionPlan
from replication.settings.copy_settings import CopySettings
from replication.settings.state_policies import Policies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.producer_identity import ProducerIdentity
    from replication.model import PartitionPlan


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """One unit's work for one epoch. A partition stays in its unit while ``units`` is constant.

    ``source`` and ``target`` are Java client properties (bootstrap.servers, security.*, …).
    """

    flow: str  # "A->B"
    source_alias: str
    target_alias: str
    unit: int
    generation: int  # of the driver; a unit stops when it reads a higher one
    epoch: int
    partitions: tuple[PartitionPlan, ...]
    source: Mapping[str, str] = field(repr=False)  # may hold passwords
    target: Mapping[str, str] = field(repr=False)
    copying: CopySettings = field(default_factory=CopySettings)  # bytes_per_second: the unit's
    policies: Policies = field(default_factory=Policies)
    target_is_replicated: bool = (
        False  # a flow that reads the target tells our copies by producer id
    )
    source_has_copies: bool = False  # another flow copies to the source, so its registry is needed
    stamps: bool = False  # records get headers with their origin
    source_id: str = ""  # cluster ids that the connections must lead to; empty: any
    target_id: str = ""
    grace_s: float = 0.0  # how long to continue after the epoch, until the next one begins (H)

    @property
    def epoch_s(self) -> float:
        """Duration of the epoch in seconds, unless the driver ends it sooner."""
        return self.copying.epoch / timedelta(seconds=1)

    @property
    def anchor_every_s(self) -> float:
        """How often anchors are written, in seconds."""
        return self.copying.anchor_every / timedelta(seconds=1)

    @property
    def transactional_id(self) -> str:
        """The name under which the brokers fence this unit (invariant A)."""
        return f"isthmus.{self.flow}.{self.unit}{'.txn' if self.is_transactional else ''}"

    @property
    def is_transactional(self) -> bool:
        """Whether records and anchors are written in transactions; a group has one mode."""
        return any(each.mode == Mode.TRANSACTIONAL for each in self.partitions)

    def for_identity(self, me: ProducerIdentity) -> UnitSpec:
        """Return the spec for ``me``: at-least-once delivery if it cannot fence."""
        if me.fences:
            return self
        again = Mode.AT_LEAST_ONCE
        plans = tuple(replace(each, mode=again) for each in self.partitions)
        return replace(self, partitions=plans, copying=replace(self.copying, delivery=again))

    def groups(self) -> tuple[UnitSpec, ...]:
        """Split the spec into appended and transactional partitions: each has its own producer."""
        split = [
            [each for each in self.partitions if (each.mode == Mode.TRANSACTIONAL) is transactional]
            for transactional in (False, True)
        ]
        parts = [tuple(each) for each in split if each] or [()]
        share = replace(
            self.copying,
            buffer_bytes=self.copying.buffer_bytes // len(parts),
            bytes_per_second=-(-self.copying.bytes_per_second // len(parts)),
        )
        return tuple(replace(self, partitions=each, copying=share) for each in parts)


@dataclass(frozen=True, slots=True)
class UnitReport:
    """What a unit did in one epoch: one metric row."""

    unit: int
    epoch: int
    records: int
    bytes: int
    cpu_s: float
    started_ms: int
    ended_ms: int
    takeovers: int  # partitions that had to be fenced and counted
    not_running: int  # partitions that ended the epoch in another state than RUNNING
    outcome: str  # "clean", or why the unit ended early: "fenced by …", "source unreachable: …"
    at_least_once: int = 0  # partitions that may have duplicate records after a crash
    source_throttled_ms: int = 0  # for how long the source's brokers throttled its connections
    target_throttled_ms: int = 0  # the target's
    backed_off_to: int = 0  # bytes a second, because the target throttles; 0: it has not
    in_grace: int = 0  # 1: it continues after the epoch, so that the next epoch need not start it
