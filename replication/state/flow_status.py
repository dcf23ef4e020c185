"""Records of whole flows: health, what people want, what was done besides copying."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from replication.model import Desired, FlowState
from replication.state.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class FlowStatus(Record):
    """A flow's health, written about every second by its driver; also the driver's lease.

    The highest ``generation`` holds the lease. A driver that sees a higher one than its own stops.
    """

    KIND: ClassVar[str] = "status"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    state: str = FlowState.STARTING
    generation: int = 0
    instance: str = ""  # random, one a driver process
    host: str = ""
    pid: int = 0
    started_ms: int = 0
    beat_ms: int = 0
    epoch: int = 0
    units: int = 0
    partitions: int = 0
    not_running: int = 0  # partitions in another state than RUNNING
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Intent(Record):
    """What a person wants of a flow."""

    KIND: ClassVar[str] = "intent"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    desired: str = Desired.RUN
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Control(Record):
    """Tells the units of a flow that epoch ``end_epoch`` and all before it are over."""

    KIND: ClassVar[str] = "control"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    generation: int = 0
    end_epoch: int = -1
    last: bool = False  # no other epoch comes: who copies on for it must end at once


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """A person's answer to the state that a partition is in; it holds for that one event."""

    KIND: ClassVar[str] = "decision"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    state: str = ""  # the state it answers
    position: int = -1  # source offset of the anchor in that state; -1: it has none
    choice: str = ""  # as in the policies: continue, reseed, skip
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class TaskReport(Record):
    """How something that the driver does for a flow besides copying last went."""

    KIND: ClassVar[str] = "duty"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "name")

    flow: str
    name: str
    at_ms: int = 0  # when it had ended
    ok: bool = True
    summary: str = ""  # what it did, or why it could not
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class AppliedConfigs(Record):
    """What was last set on a target topic, so that a change by others can be told from our own."""

    KIND: ClassVar[str] = "applied"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the target
    configs: Mapping[str, str] = field(default_factory=dict)  # that follow the source or the file
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # config: (value, why)
    at_ms: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class NewName(Record):
    """What a flow is about to call a topic on the target, said before it is first copied.

    It is for the drivers of other applications that copy to the same target: what they both begin
    at the same moment, neither would see in the other's anchors.
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
class AppliedAcls(Record):
    """The rights on one resource of the target that Isthmus made: it may take away no others."""

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
class Fencing(Record):
    """Whether a target does what appends outside transactions rely on, tried once a cluster."""

    KIND: ClassVar[str] = "fencing"
    KEYS: ClassVar[tuple[str, ...]] = ("cluster",)

    cluster: str  # id of the target, so that another cluster under its name is tried anew
    lacks: str = ""  # what it does not do; empty: it does all of it
    flow: str = ""  # for which it was tried
    at_ms: int = 0
