"""State records of flows: health, desired state, decisions, applied configs and ACLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from replication.model import NO_POSITION, Desired, FlowState
from replication.state.record import StateRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS_OFF: Final = "off: sync.group.offsets.enabled is false"  # what the group sync reports then


@dataclass(frozen=True, slots=True)
class FlowStatus(StateRecord):
    """A flow's health, written about every second by its driver; also the driver's lease.

    The highest ``generation`` holds the lease. A driver that sees a higher one than its own stops.
    """

    KIND: ClassVar[str] = "status"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    state: str = FlowState.STARTING
    generation: int = 0
    instance: str = ""  # random, one per driver process
    host: str = ""
    pid: int = 0
    started_ms: int = 0
    beat_ms: int = 0
    epoch: int = 0
    units: int = 0
    partitions: int = 0
    not_running: int = 0  # partitions in another state than RUNNING
    source_throttled_ms: int = 0  # by the source's brokers in the last epoch, over connections
    target_throttled_ms: int = 0
    backed_off_to: int = 0  # bytes a second, because the target throttles; 0: it has not
    disk_limit: int = 0  # bytes a second, because a disk of the target fills; 0: none does
    reason: str = ""
    starts_again: bool = False  # the driver has ended, to start with an edited file
    config: str = ""  # fingerprint of the settings that the driver follows; empty: an older release
    config_read_ms: int = 0  # when it read them
    config_problem: str = ""  # why the file's present content is not in force


@dataclass(frozen=True, slots=True)
class BatchRun(StateRecord):
    """How the last run of a batch flow ended. Its driver writes it, unless it is killed."""

    KIND: ClassVar[str] = "batch run"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    generation: int = 0  # of its driver
    started_ms: int = 0
    ended_ms: int = 0
    records: int = 0  # that it copied
    problem: str = ""  # why it did not copy all that the source had at its start; empty: it did
    good_ms: int = 0  # when the last run ended that copied all; 0: none has


@dataclass(frozen=True, slots=True)
class ClusterIds(StateRecord):
    """The ids of the clusters that a flow copies between: an address may come to lead to others.

    Written when the flow first starts, and when an operator accepts other clusters.
    """

    KIND: ClassVar[str] = "clusters"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    source: str = ""
    target: str = ""  # empty: not known; the source's is from the registry of producers
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Intent(StateRecord):
    """The desired state of a flow, set by an operator."""

    KIND: ClassVar[str] = "intent"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    desired: str = Desired.RUN
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Control(StateRecord):
    """Ends epoch ``end_epoch`` of a flow, and all before it, in all its units."""

    KIND: ClassVar[str] = "control"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    generation: int = 0
    end_epoch: int = -1
    last: bool = False  # no epoch follows: units that prepared for it must end at once


@dataclass(frozen=True, slots=True)
class Decision(StateRecord):
    """An operator's decision on a halted partition; it holds for that one event."""

    KIND: ClassVar[str] = "decision"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    state: str = ""  # the state it answers
    position: int = NO_POSITION  # source offset of the anchor in that state
    choice: str = ""  # as in the policies: continue, reseed, skip
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class NameDecision(StateRecord):
    """An operator's decision on a topic whose name changed; it holds for these two names.

    The driver withdraws it when it is carried out, or when the name is no longer another one.
    """

    KIND: ClassVar[str] = "name decision"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the source
    old: str = ""  # the name on the target that it was copied under
    new: str = ""  # the name that the file gives
    choice: str = ""  # as in the policy: continue, keep, reseed; empty: withdrawn
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class TaskReport(StateRecord):
    """The last result of one of a flow's background tasks."""

    KIND: ClassVar[str] = "duty"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "name")

    flow: str
    name: str
    at_ms: int = 0  # when it had ended
    ok: bool = True
    summary: str = ""  # what it did, or why it failed
    took_ms: int = 0
    # When a run last ended well, also one of an earlier driver; 0: none is known to have. None: an
    # older release wrote this.
    good_ms: int | None = None

    @property
    def last_good_ms(self) -> int:
        """When a run last ended well, as far as the report says; 0: not known."""
        if self.good_ms is not None:
            return self.good_ms
        return self.at_ms if self.ok and self.summary != GROUPS_OFF else 0


@dataclass(frozen=True, slots=True)
class AppliedConfigs(StateRecord):
    """The configs last set on a target topic, to distinguish changes by others from our own."""

    KIND: ClassVar[str] = "applied"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the target
    configs: Mapping[str, str] = field(default_factory=dict)  # that follow the source or the file
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # config: (value, why)
    at_ms: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class NewName(StateRecord):
    """The target name of a topic, announced before the topic is first copied.

    It is for drivers of other applications that copy to the same target: if both start a topic at
    the same moment, neither would see it in the other's anchors.
    """

    KIND: ClassVar[str] = "name"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the source
    target: str = ""  # on the target; empty: taken back
    rule: str = ""  # these as in naming_conflicts.Named
    merges: bool = False
    may_join: bool = False
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class AppliedAcls(StateRecord):
    """The ACLs on one target resource that Isthmus created: it may delete no others."""

    KIND: ClassVar[str] = "rights"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "resource", "name", "pattern")

    flow: str
    resource: str  # topic or group
    name: str
    pattern: str  # literal or prefixed
    rights: tuple[tuple[str, str, str, str], ...] = ()  # principal, host, operation, permission
    at_ms: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class Fencing(StateRecord):
    """The result of the fencing probe of a target, which runs once per cluster."""

    KIND: ClassVar[str] = "fencing"
    KEYS: ClassVar[tuple[str, ...]] = ("cluster",)

    cluster: str  # id of the target, so that another cluster under its alias is probed again
    lacks: str = ""  # which guarantee is missing; empty: none
    flow: str = ""  # for which it was probed
    at_ms: int = 0
