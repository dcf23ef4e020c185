"""A planned move of a flow's clients to its target: its options and its steps, in order. Pure.

Up to the step ``open target`` everything can be taken back; from there on it goes forward only::

    check ─ deny writes ─ wait for producers ─ drain ─ stop ─ compare tail ─ prove positions ─
        set groups ─┤ open target ─ allow writes
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.acl_values import ANY, DENY, TOPIC, Acl, Resource
from replication.errors import ConfigError
from replication.recovery.procedure import StepPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.state import Operation

SWITCHOVER = "switchover"
DENIED = "denied"  # of an operation's options: the topics whose writes it denies, if any
UNDO = "undo"  # the same: why it is taken back
EVERYBODY = "User:*"
ALL_GROUPS = "*"  # among the groups that may be left
_LEAVE = "leave"  # of an operation's options: see SwitchoverOptions


@dataclass(frozen=True, slots=True)
class SwitchoverOptions:
    """How to switch over.

    ``timeout_s``: how long producers are waited for, and then the copy. ``quiet_s``: how long none
    may have written. ``tail``: records of each partition that are compared; 0: none. ``leave``: the
    groups that a person agreed to leave where their place on the target is not known.
    """

    timeout_s: float = 300.0
    quiet_s: float = 10.0
    deny_writes: bool = False
    tail: int = 1000
    leave: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raise ConfigError for values that cannot succeed."""
        if self.quiet_s <= 0 or self.tail < 0:
            raise ConfigError("--quiet must be above 0 seconds, and --tail not below 0 records")
        if self.timeout_s <= self.quiet_s:
            raise ConfigError(
                f"--timeout {self.timeout_s:g} must be longer than --quiet {self.quiet_s:g}: "
                "producers have to be at rest for so long"
            )

    def may_leave(self, group: str) -> bool:
        """Say whether somebody agreed to leave a group."""
        return not self.leave.isdisjoint({group, ALL_GROUPS})

    def stored(self) -> dict[str, str]:
        """Return them as an operation's record holds them."""
        return {
            "timeout_s": str(self.timeout_s),
            "quiet_s": str(self.quiet_s),
            "deny_writes": "yes" if self.deny_writes else "",
            "tail": str(self.tail),
            **with_left({}, self.leave),
        }

    @classmethod
    def of(cls, operation: Operation) -> SwitchoverOptions:
        """Return the options of an operation that was begun with ``stored``."""
        held = operation.options
        return cls(
            float(held["timeout_s"]),
            float(held["quiet_s"]),
            bool(held["deny_writes"]),
            int(held["tail"]),
            frozenset(json.loads(held.get(_LEAVE) or "[]")),  # an older release wrote none
        )


def with_left(options: Mapping[str, str], groups: Iterable[str]) -> dict[str, str]:
    """Return an operation's options with the groups that a person agreed to leave."""
    return {**options, _LEAVE: json.dumps(sorted(groups))}


def switchover_steps(
    flow: str, source: str, target: str, options: SwitchoverOptions
) -> tuple[StepPlan, ...]:
    """Return the steps of a switchover of ``flow`` from ``source`` to ``target``, in order."""
    back = f"isthmus switchover FILE --flow '{flow}' --undo; a failure does the same"
    no_more = f"isthmus switchover FILE --flow '{flow}' --undo, once no client writes to {target}"
    within = f"within {options.timeout_s:g} s"
    steps = [
        StepPlan("check", f"see that both clusters answer and {flow} copies all partitions", back),
        StepPlan("deny writes", f"deny all users WRITE on the topics of {flow} on {source}", back),
        StepPlan(
            "wait for producers",
            f"wait {within} until no producer has written to {source} for {options.quiet_s:g} s",
            back,
        ),
        StepPlan("drain", f"wait {within} until all of {source} is on {target}", back),
        StepPlan("stop", f"stop {flow}; its units write their last anchors", back),
        StepPlan(
            "compare tail",
            f"compare the last {options.tail} records of each partition with their copies",
            back,
        ),
        StepPlan("prove positions", "write each partition's proven position", back),
        StepPlan(
            "set groups",
            f"set the offsets of consumer groups on {target}, exactly; groups with members there "
            "are left",
            f"{back}; the groups keep their offsets, as after any sync",
        ),
        StepPlan(
            "open target",
            f"check that no producer wrote to {source} meanwhile; mark {target} as the cluster "
            f"that clients write to; {flow} stays stopped",
            no_more,
        ),
        StepPlan("allow writes", f"remove the DENY ACLs on {source}", no_more),
    ]
    left_out = set() if options.deny_writes else {"deny writes", "allow writes"}
    left_out |= set() if options.tail else {"compare tail"}
    return tuple(each for each in steps if each.name not in left_out)


def denials(topics: Iterable[str]) -> frozenset[Acl]:
    """Return the ACLs that deny everybody to write to topics; super users are not bound by them."""
    return frozenset(Acl(Resource(TOPIC, each), EVERYBODY, ANY, "WRITE", DENY) for each in topics)


def denied_topics(options: Mapping[str, str]) -> frozenset[str]:
    """Return the topics whose writes an operation denies, or is about to."""
    return frozenset(filter(None, options.get(DENIED, "").split(",")))


def with_denied(options: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """Return an operation's options with the topics whose writes it denies."""
    return {**options, DENIED: ",".join(sorted(topics))}
