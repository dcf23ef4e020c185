"""Names why a topic that was copied is not copied any more: deleted, denied, or not selected. Pure.

A topic that one listing lacks is kept in the plan until ``MISSING_LOOKS`` listings in a row, by
different brokers, lack it and the source says so when it is asked by name: a broker that has just
started, or that lags behind its controller, shows too few.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.client.admin import Absence
from replication.model import PartitionState
from replication.naming.selection import listed as few_of
from replication.settings.state_policies import STOP
from replication.state import AbsentTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.client.admin import TopicInfo
    from replication.settings.state_policies import Policies
    from replication.state import Anchor

MISSING_LOOKS = 3

_STATES = {
    Absence.DELETED: PartitionState.SOURCE_DELETED,
    Absence.DENIED: PartitionState.SOURCE_DENIED,
}
_FLOW_REASONS = {
    PartitionState.SOURCE_DELETED: (
        "deleted at the source: {topics}; what was copied is kept; create the topic again, list "
        "it in topics.exclude, or set on.source.deleted = continue"
    ),
    PartitionState.SOURCE_DENIED: (
        "not shown by the source any more: {topics}; what was copied is kept; grant Isthmus' user "
        "DESCRIBE and READ on the topic, or list it in topics.exclude"
    ),
}


def missed_looks(
    copied: Iterable[str], shown: Mapping[str, TopicInfo], before: Mapping[str, int]
) -> dict[str, int]:
    """Return how many listings in a row lack each of ``copied`` that ``shown`` lacks."""
    return {topic: before.get(topic, 0) + 1 for topic in copied if topic not in shown}


def with_all_partitions(
    shown: Mapping[str, TopicInfo], before: Mapping[str, TopicInfo]
) -> dict[str, TopicInfo]:
    """Return a listing in which no topic has fewer partitions than ``before``.

    A topic never loses partitions while it keeps its id: the broker has not heard of them yet.
    """
    full = dict(shown)
    for topic, known in before.items():
        now = shown.get(topic)
        is_same = now is not None and known.topic_id and now.topic_id == known.topic_id
        if now is not None and is_same and now.partitions < known.partitions:
            full[topic] = known
    return full


def gone(absence: Absence, anchors: Sequence[Anchor], now_ms: int) -> AbsentTopic:
    """Return the record of a topic that the source lacks, or hides. ``anchors``: at least one."""
    first = anchors[0]
    kept = f"the copy {first.target_topic} is kept"
    if absence is Absence.DENIED:
        why = f"the source does not show the topic to Isthmus' user any more; {kept}"
    else:
        missed = sum(max(0, each.source_end - (each.source or 0)) for each in anchors)
        lost = f"; at least {missed} of its offsets were not copied" if missed else ""
        why = f"the source topic was deleted; {kept}{lost}"
    return AbsentTopic(first.flow, first.topic, _STATES[absence], why, now_ms)


def is_so(absent: AbsentTopic, absence: Absence) -> bool:
    """Return whether it is known already that the source lacks, or hides, the topic."""
    return absent.state == _STATES[absence]


def not_selected(anchors: Sequence[Anchor], rule: str, now_ms: int) -> AbsentTopic:
    """Return the record of a topic that the file selects no longer, because of ``rule``."""
    first = anchors[0]
    why = f"the file does not select the topic any more: {rule}; the copy {first.target_topic} is "
    return AbsentTopic(first.flow, first.topic, PartitionState.NOT_SELECTED, f"{why}kept", now_ms)


def changes(
    before: Mapping[str, AbsentTopic], now: Mapping[str, AbsentTopic], now_ms: int
) -> tuple[AbsentTopic, ...]:
    """Return the records to write: of topics that are absent now, and of those that are back."""
    back = (replace(before[e], state="", reason="", at_ms=now_ms) for e in before.keys() - now)
    new = (each for topic, each in now.items() if _kind(before.get(topic)) != _kind(each))
    return tuple(sorted((*back, *new), key=lambda each: each.topic))


def _kind(absent: AbsentTopic | None) -> tuple[str, str]:
    return (absent.state, absent.reason) if absent else ("", "")


def problem_and_remark(absent: Iterable[AbsentTopic], policies: Policies) -> tuple[str, str]:
    """Return why the flow is DEGRADED because of absent topics, and what is only to be known.

    A topic that the file does not select is neither: it shows in the topic's own state.
    """
    by_state: dict[str, list[str]] = defaultdict(list)
    for each in absent:
        by_state[each.state].append(each.topic)
    texts = {
        state: text.format(topics=few_of(by_state[state]))
        for state, text in _FLOW_REASONS.items()
        if state in by_state
    }
    deleted = texts.get(PartitionState.SOURCE_DELETED, "")
    if deleted and policies.source_deleted != STOP:
        del texts[PartitionState.SOURCE_DELETED]
        return "; ".join(texts.values()), deleted.rpartition("; create")[0]
    return "; ".join(texts.values()), ""
