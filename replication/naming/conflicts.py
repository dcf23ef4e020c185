"""Conflicts of target names, found before records mix: equal, invalid or taken names. Pure.

The target names of all flows are compared with one another and with the target's topics.
A topic that was copied under a name before (it has anchors there) keeps it; the new one is
rejected, so that a new topic never stops an old one. All others are copied.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.internal_topics import HEARTBEATS, internal_reason
from replication.state.drill_names import canary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

LONGEST = 249  # characters of a topic's name, a limit of the brokers
_LEGAL = re.compile(r"[A-Za-z0-9._-]+")


class Named(NamedTuple):
    """A selected topic of a flow's source, and its target name."""

    flow: str
    topic: str
    target: str
    rule: str = ""  # what gave the name; equal rules give equal topics one name on purpose
    merges: bool = False  # ``topics.merge`` says that others may go into the same target topic
    may_join: bool = False  # may go into a topic with records that are not Isthmus'

    @property
    def kept(self) -> bool:
        """Whether the topic keeps its name."""
        return self.topic == self.target

    def __str__(self) -> str:
        return f"{self.topic} of {self.flow.partition('->')[0]}"


class ConflictKind(StrEnum):
    """A conflict about a name on the target, or a configured merge."""

    MERGE = "merge"  # configured: reported, and no topic is rejected
    UNMEANT = "unintended merge"
    TWO_OF_ONE = "two topics of one source"
    ILLEGAL = "illegal name"
    RESERVED = "reserved name"
    METRICS = "metrics collision"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class NameConflict:
    """A finding about one name on the target; ``members`` are those that it concerns."""

    kind: ConflictKind
    target: str
    members: tuple[Named, ...]
    reason: str

    @property
    def refused(self) -> tuple[Named, ...]:
        """Those that are not copied for it."""
        return () if self.kind is ConflictKind.MERGE else self.members

    def __str__(self) -> str:
        return f"{self.target}: {self.reason}"


@dataclass(frozen=True, slots=True)
class TargetNames:
    """What is known of the target's topics; nothing, before anybody has looked."""

    existing: Collection[str] = ()
    filled: Collection[str] = ()  # of these, the ones that hold records
    feeders: Mapping[str, Collection[tuple[str, str]]] = field(default_factory=dict)
    # by target topic: (flow, source topic) of everything of ours that has anchors there
    lost: Collection[str] = ()  # flows whose anchors are gone: the engine asks about them
    claimed: Collection[tuple[str, str]] = ()  # (flow, source topic): their anchors may be gone

    def feeds(self, named: Named) -> bool:
        """Say whether ``named`` has copied into its target topic before."""
        return (named.flow, named.topic) in self.feeders.get(named.target, ())

    def may_be_copied(self, named: Named) -> bool:
        """Say whether ``named`` may have copied before, and lost its anchors since."""
        return named.flow in self.lost or (named.flow, named.topic) in self.claimed


def find_conflicts(named: Iterable[Named], target: TargetNames) -> tuple[NameConflict, ...]:
    """Return every finding about the names of all flows into one target, by target topic."""
    groups: dict[str, list[Named]] = defaultdict(list)
    for each in sorted(set(named)):
        groups[each.target].append(each)
    found: list[NameConflict] = []
    usable: list[str] = []
    for name, group in sorted(groups.items()):
        if impossible := _impossible(name, group):
            found.append(impossible)
            continue
        usable.append(name)
        found += _two_of_one(name, group, target)
        found += _merge(name, group, target)
        found += _taken(name, group, target)
    found += _metrics(usable, groups, target)
    return tuple(sorted(found, key=lambda each: each.target))


def refusals(conflicts: Iterable[NameConflict], flow: str) -> dict[str, str]:
    """Return the source topics of ``flow`` that are not copied, each with the reason."""
    found: dict[str, str] = {}
    for conflict in conflicts:
        for each in conflict.refused:
            if each.flow == flow:
                found.setdefault(each.topic, str(conflict))
    return found


def _impossible(name: str, group: list[Named]) -> NameConflict | None:
    if why := illegal_reason(name):
        return NameConflict(ConflictKind.ILLEGAL, name, tuple(group), f"{_listed(group)}: {why}")
    reserved = name == HEARTBEATS or internal_reason(name)
    if reserved and not all(name == canary_of(each.flow.partition("->")[0]) for each in group):
        owner = internal_reason(name) or "the topic of MirrorMaker 2's heartbeats"
        return NameConflict(
            ConflictKind.RESERVED,
            name,
            tuple(group),
            f"{_listed(group)} would be written to {owner}",
        )
    return None


def illegal_reason(name: str) -> str | None:
    """Return why brokers reject a topic of this name, else None."""
    if name in ("", ".", ".."):
        return f"{name!r} cannot be a topic's name"
    if not _LEGAL.fullmatch(name):
        bad = "".join(sorted(set(re.sub(_LEGAL, "", name))))
        return f"a topic's name cannot have {bad!r} in it"
    if len(name) > LONGEST:
        return f"the name has {len(name)} characters, {LONGEST} is the most"
    return None


def _two_of_one(name: str, group: list[Named], target: TargetNames) -> Iterator[NameConflict]:
    """Reject two topics of one flow under one name.

    ``topics.merge`` is no way out: one unit may append for both, and after a crash its records are
    counted a target partition (invariant C), so the two topics' records could not be told apart.
    """
    for flow in sorted({each.flow for each in group}):
        mine = [each for each in group if each.flow == flow]
        if len(mine) < 2:
            continue
        before = [each for each in mine if target.feeds(each)]
        newcomers = [each for each in mine if each not in before] if len(before) == 1 else mine
        reason = (
            f"{_listed(mine)} would get this name: topics of one source cannot be merged; "
            "exclude one with topics.exclude, or rename it"
        )
        yield NameConflict(ConflictKind.TWO_OF_ONE, name, tuple(newcomers), reason)


def _merge(name: str, group: list[Named], target: TargetNames) -> Iterator[NameConflict]:
    known = {(each.flow, each.topic) for each in group}
    others = [
        Named(flow, topic, name, merges=True)
        for flow, topic in sorted(target.feeders.get(name, ()))
        if (flow, topic) not in known
    ]
    everyone = [*group, *others]
    if len({each.flow for each in everyone}) < 2:
        return
    newcomers = [each for each in group if not target.feeds(each)]
    if _is_meant(everyone) or not newcomers:
        yield NameConflict(
            ConflictKind.MERGE, name, tuple(everyone), f"{_listed(everyone)} merge into this topic"
        )
        return
    reason = (
        f"{_listed(everyone)} would merge into this topic, under names from different rules; if "
        f"that is intended, set topics.merge = {name.replace('.', chr(92) + '.')}"
    )
    yield NameConflict(ConflictKind.UNMEANT, name, tuple(newcomers), reason)


def _is_meant(everyone: Collection[Named]) -> bool:
    """Say whether topics of several sources share a name on purpose.

    They do when all keep their name, when one rule renames topics that are called the same at each
    source, or when the operator says so of each of them.
    """
    if all(each.merges for each in everyone) or all(each.kept for each in everyone):
        return True
    rules = {each.rule for each in everyone if each.rule}
    return len({each.topic for each in everyone}) == 1 and len(rules) == 1


def _taken(name: str, group: list[Named], target: TargetNames) -> Iterator[NameConflict]:
    if name not in target.filled or target.feeders.get(name):
        return
    others = [e for e in group if not e.may_join and not target.may_be_copied(e)]
    if others:
        reason = (
            f"the target has a topic of this name, with records that Isthmus did not produce; "
            f"{_listed(others)} would merge with them. If MirrorMaker 2 wrote them, "
            "`isthmus takeover --from-mm2 FILE` continues from where it stopped; to merge them, "
            "set on.target.exists = continue"
        )
        yield NameConflict(ConflictKind.TAKEN, name, tuple(others), reason)


def _metrics(
    names: Iterable[str], groups: Mapping[str, list[Named]], target: TargetNames
) -> Iterator[NameConflict]:
    """Reject a new ``a.b`` beside ``a_b``: they collide in metric names, so brokers reject it.

    Of two new topics the first by name is created.
    """
    there: dict[str, str] = {}
    for name in sorted(target.existing):
        there.setdefault(_metric(name), name)
    for name in sorted(set(names) - set(target.existing)):
        other = there.setdefault(_metric(name), name)
        if other != name:
            reason = (
                f"{_listed(groups[name])}: brokers refuse this name together with {other}, because "
                "dots and underscores are equal in metric names; rename one topic"
            )
            yield NameConflict(ConflictKind.METRICS, name, tuple(groups[name]), reason)


def _metric(name: str) -> str:
    return name.replace(".", "_")


def _listed(named: Iterable[Named]) -> str:
    texts = [str(each) for each in named]
    return " and ".join(texts) if len(texts) < 3 else f"{', '.join(texts[:-1])} and {texts[-1]}"
