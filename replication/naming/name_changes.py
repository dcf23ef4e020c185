"""Topics that were copied under another name than the file gives now, and how each goes on. Pure.

A position says nothing about a topic of another name: there, everything would be copied again. So
an anchor's target topic decides whether a name changed, whatever changed it: the policy, its
separator, a rename rule, or a map file. Until somebody chooses, the topic keeps its name and waits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from replication.model import NameChange
from replication.naming.selection import listed
from replication.settings.naming_settings import MappedName
from replication.settings.state_policies import CONTINUE, KEEP, RESEED, STOP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.naming.selection import TopicSelector
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor, NameDecision

Changes = dict[str, NameChange]  # by topic of the source


def name_changes(
    flow: Flow,
    selector: TopicSelector,
    anchors: Iterable[Anchor],
    decisions: Mapping[str, NameDecision],
    partitions: Mapping[str, int],
) -> Changes:
    """Return the changed names of a flow's topics.

    ``selector`` names topics as the file does. ``decisions`` are by topic, ``partitions`` are the
    source's counts: anchors of other partitions and topics remain from what was deleted there.
    """
    copied: dict[str, list[Anchor]] = defaultdict(list)
    for each in anchors:
        is_there = each.partition < partitions.get(each.topic, 0)
        if each.flow == flow.name and is_there and each.source is not None and each.target_topic:
            copied[each.topic].append(each)
    found: Changes = {}
    for topic, all_of_it in sorted(copied.items()):
        if selector.judge(topic).selected:
            new = selector.remote_topic(topic)
            if former := [each for each in all_of_it if each.target_topic != new]:
                policy = flow.policies.name_changed
                found[topic] = _change(former, new, decisions.get(topic), policy)
    return found


def _change(
    former: list[Anchor], new: str, decision: NameDecision | None, policy: str
) -> NameChange:
    """Return the change of one topic. A topic of which nothing was copied yet just goes on."""
    names = Counter(each.target_topic for each in former)
    old = min(names, key=lambda name: (-names[name], name))
    if not any(each.records or each.lost or each.since or not each.clean for each in former):
        return NameChange(old, new, CONTINUE)
    if decision is not None and answers(decision, NameChange(old, new)):
        return NameChange(old, new, decision.choice)
    return NameChange(old, new, "" if policy == STOP else policy)


def answers(decision: NameDecision, change: NameChange) -> bool:
    """Say whether a decision is about ``change``, and was not withdrawn."""
    return bool(decision.choice) and (decision.old, decision.new) == (change.old, change.new)


def holding(
    flow: Flow, changes: Mapping[str, NameChange], copies: Iterable[MappedName] = ()
) -> Flow:
    """Return ``flow`` with the former names that are in use, which override all its rules.

    ``copies`` are topics on its source that only anchors show to be copies from elsewhere.
    """
    held = tuple(
        MappedName(flow.source, topic, each.old)
        for topic, each in sorted(changes.items())
        if each.in_use == each.old
    )
    naming = flow.naming.model_copy(update={"held": (*held, *copies)})
    return flow.model_copy(update={"naming": naming})


def with_names_in_use(
    config: Config,
    changes: Mapping[str, Changes],
    copies: Mapping[str, tuple[MappedName, ...]] | None = None,
) -> Config:
    """Return ``config`` with the names in use; ``changes`` and ``copies`` are by flow."""
    known = copies or {}
    flows = tuple(
        holding(each, changes.get(each.name, {}), known.get(each.name, ())) for each in config.flows
    )
    return config.model_copy(update={"flows": flows})


def unnamed_copies(
    flow: Flow, selector: TopicSelector, arrivals: Iterable[Anchor], flows: Collection[str]
) -> tuple[MappedName, ...]:
    """Return the copies on a flow's source that would come back, but for their names; sorted.

    ``arrivals`` are the anchors of flows into the source, ``flows`` those of the file. Where all
    names have prefixes, records under a former name would be copied back to where they came from.
    Flows that keep names detect copies by their records, and a copy that is called as its source
    may hold local records too. Of a cluster that nothing from the target reaches, copies lead on.
    """
    if not flow.naming.prefixes_all:
        return ()
    back = _reached(flow.target, flows)
    names = {
        MappedName(source, each.topic, name)
        for each in arrivals
        if each.source is not None and (source := _ends(each.flow)[0]) in back
        for name in (each.target_topic, each.former)
        if name not in {"", each.topic} and selector.policy.origin(name) is None
    }
    return tuple(sorted(names))


def _reached(start: str, flows: Collection[str]) -> Collection[str]:
    """Return the clusters that records of ``start`` may come to, itself included."""
    seen, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        following = {target for source, target in map(_ends, flows) if source == at} - seen
        seen |= following
        waiting += following
    return seen


def _ends(flow: str) -> tuple[str, str]:
    source, _, target = flow.partition("->")
    return source, target


def describe(topic: str, change: NameChange) -> str:
    """Return one change in one sentence: both names, and what happens."""
    old, new, choice = change
    match choice:
        case "continue":
            return (
                f"{topic} was copied as {old}; new records are copied as {new}, "
                f"{old} keeps the former ones"
            )
        case "reseed":
            return f"{topic} was copied as {old}; all of it is copied again as {new}"
        case "keep":
            return f"{topic} is copied on as {old}, although the file names it {new}"
        case _:
            return (
                f"{topic} was copied as {old}, and the file now names it {new}: it is not copied "
                f"until `isthmus resolve FILE` chooses {CONTINUE} (copy new records as {new}), "
                f"{RESEED} (copy all again as {new}) or {KEEP} (copy on as {old})"
            )


def kept_names(changes: Mapping[str, NameChange]) -> str:
    """Return which topics keep a former name, for operators; empty: none."""
    kept = [f"{topic} as {each.old}" for topic, each in changes.items() if each.choice == KEEP]
    return f"copied under a former name: {listed(kept)}" if kept else ""


def spent(
    decisions: Iterable[NameDecision], changes: Mapping[str, NameChange]
) -> Iterator[NameDecision]:
    """Yield the decisions that no change is waiting for any more."""
    for each in decisions:
        change = changes.get(each.topic)
        if each.choice and (change is None or not answers(each, change)):
            yield each
