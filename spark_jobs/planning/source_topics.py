"""Reads the topics of a flow's source; one that an answer lacks is looked up before it is gone."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.client.admin import Absence, TopicInfo
from replication.clock import now_ms
from replication.model import PartitionState
from replication.naming.selection import SelectionVerdict
from replication.state import AbsentTopic, Anchor, anchors_topic, status_topic
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.absent_topics import (
    MISSING_LOOKS,
    changes,
    gone,
    is_so,
    missed_looks,
    not_selected,
    with_all_partitions,
)
from spark_jobs.planning.source_inventory import (
    NOT_KEPT,
    FirstLooks,
    SourceInventory,
    inventory_of,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import ClusterAdmin
    from replication.naming.selection import TopicSelector
    from replication.state import Stored

_ASK_AGAIN_S = 30.0  # about topics that are gone: one that was deleted may be denied now


class StateRecords(Protocol):
    """What is needed of ``client.admin.Records``."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...

    def write(self, topic: str, *records: Stored) -> None: ...


class SourceLook(NamedTuple):
    """What one look at the source found. ``is_first``: the flow starts for the first time."""

    topics: Mapping[str, TopicInfo]
    selected: tuple[str, ...]
    absent: tuple[AbsentTopic, ...]
    inventory: SourceInventory
    is_first: bool


@dataclass(slots=True)
class _Memory:
    """What is remembered of a flow's source between two looks."""

    inventory: SourceInventory
    copied: dict[str, TopicInfo | None]  # selected topics as last listed; None: only anchors know
    absent: dict[str, AbsentTopic]
    unselected: Mapping[str, AbsentTopic]  # anchors know them, the file does not
    missed: Mapping[str, int] = field(default_factory=dict)  # listings in a row without a topic
    looks: FirstLooks = field(default_factory=FirstLooks)
    asked_at: float = 0.0  # when the source was last asked about absent topics


class SourceTopics:
    """The topics of one flow's source, look by look. What must outlive the driver is stored."""

    def __init__(self, flow: str, selector: TopicSelector, store: StateRecords) -> None:
        self._flow = flow
        self._selector = selector
        self._selected = MemoizeLast(selector.selected)
        self._store = store
        self._alias = flow.partition("->")[0]
        self._memory: _Memory | None = None

    def look(self, source: ClusterAdmin) -> SourceLook:
        """Return what the source has now. Raises ClusterUnavailable, ClusterRejected."""
        listed = source.topics(another_broker=self._is_unsure())
        is_first = False
        if self._memory is None:
            self._memory, is_first = self._remembered()
        memory = self._memory
        if not memory.inventory.complete:
            self._confirm(memory, listed)
        before = {name: info for name, info in memory.copied.items() if info is not None}
        shown = with_all_partitions(listed, before)
        memory.missed = missed_looks(memory.copied, shown, memory.missed)
        answers = self._ask(memory, source)
        kept = {name: before[name] for name in memory.missed if name in before}
        kept = {name: info for name, info in kept.items() if name not in answers}
        found = {name: each for name, each in answers.items() if isinstance(each, TopicInfo)}
        shown |= kept | found
        selected = self._selected(frozenset(shown))
        self._judge_absent(memory, shown, answers)
        waiting = {name for name, info in memory.copied.items() if info is None} - answers.keys()
        memory.copied = {**dict.fromkeys(waiting), **{name: shown[name] for name in selected}}
        absent = tuple(memory.absent[name] for name in sorted(memory.absent))
        return SourceLook(shown, selected, absent, memory.inventory, is_first)

    def _is_unsure(self) -> bool:
        """Return whether the listing must come from another broker than the last one."""
        memory = self._memory
        return memory is None or not memory.inventory.complete or bool(memory.missed)

    def _remembered(self) -> tuple[_Memory, bool]:
        """Return what is stored, and whether the flow starts for the first time.

        What a first start finds is stored before anything is copied, also when the driver ends
        before the looks agree.
        """
        records = list(self._store.read(status_topic(self._alias)).values())
        anchors = self._anchors()
        inventory, is_first = inventory_of(self._flow, records), False
        if inventory is None:
            is_first = not anchors
            inventory = SourceInventory(now_ms()) if is_first else NOT_KEPT
            self._store.write(status_topic(self._alias), *parts_of(self._flow, inventory))
        absent = {
            each.topic: each
            for each in records
            if isinstance(each, AbsentTopic) and each.flow == self._flow and each.state
        }
        memory = _Memory(inventory, {}, absent, self._unselected(anchors))
        # Of one that was not selected until now, nobody has seen yet whether it is there.
        memory.copied.update(
            dict.fromkeys(self._selector.selected(anchors.keys() - self._gone(memory)))
        )
        return memory, is_first

    def _confirm(self, memory: _Memory, listed: Mapping[str, TopicInfo]) -> None:
        """Store the inventory once several looks agree on it."""
        now_s = time.monotonic()
        chosen = self._selected(frozenset(listed))
        memory.looks = memory.looks.after(listed, chosen, now_s)
        if memory.looks.agree(now_s):
            whole = replace(memory.inventory, topics=memory.looks.topics, complete=True)
            self._store.write(status_topic(self._alias), *parts_of(self._flow, whole))
            memory.inventory = whole

    def _ask(self, memory: _Memory, source: ClusterAdmin) -> Mapping[str, TopicInfo | Absence]:
        """Ask by name about topics that several listings lack, and again about absent ones."""
        names = {name for name, looks in memory.missed.items() if looks >= MISSING_LOOKS}
        now_s = time.monotonic()
        if memory.absent and now_s - memory.asked_at >= _ASK_AGAIN_S:
            memory.asked_at = now_s
            names |= self._gone(memory)
        return source.look_up(sorted(names)) if names else {}

    def _gone(self, memory: _Memory) -> set[str]:
        """Return the topics that the source lacks or hides, as far as the file selects them."""
        chosen = PartitionState.NOT_SELECTED
        found = {name for name, each in memory.absent.items() if each.state != chosen}
        return found - memory.unselected.keys()

    def _judge_absent(
        self,
        memory: _Memory,
        shown: Mapping[str, TopicInfo],
        answers: Mapping[str, TopicInfo | Absence],
    ) -> None:
        """Note which copied topics are not copied now, and store what has changed."""
        wall_ms, before = now_ms(), memory.absent
        still = self._gone(memory) - shown.keys()
        now = {**memory.unselected, **{name: before[name] for name in still}}
        news = {
            name: each
            for name, each in answers.items()
            if isinstance(each, Absence) and not (name in now and is_so(now[name], each))
        }
        if news:
            anchors = self._anchors()
            now |= {e: gone(news[e], anchors[e], wall_ms) for e in news.keys() & anchors.keys()}
        if changed := changes(before, now, wall_ms):
            self._store.write(status_topic(self._alias), *changed)
            memory.absent = {
                name: before[name] if each not in changed else each for name, each in now.items()
            }

    def _anchors(self) -> dict[str, list[Anchor]]:
        """Return the anchors of the topics that the flow has copied, by topic."""
        found = defaultdict(list)
        for each in self._store.read(anchors_topic(self._alias)).values():
            if isinstance(each, Anchor) and each.flow == self._flow and each.source is not None:
                found[each.topic].append(each)
        return found

    def _unselected(self, anchors: Mapping[str, list[Anchor]]) -> dict[str, AbsentTopic]:
        """Return those that the file does not select; one without a name is reported elsewhere."""
        judged = ((topic, self._selector.judge(topic)) for topic in anchors)
        return {
            topic: not_selected(anchors[topic], each.reason, now_ms())
            for topic, each in judged
            if not each.selected and each.verdict is not SelectionVerdict.NAMELESS
        }
