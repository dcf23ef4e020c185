"""Finds the topics of a flow that were copied under another name, and whether each may go on.

Anchors are read when a topic is new to this process or has come back, and while a topic is on its
way to its new name: until then its anchors are partly under the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from replication.naming.former_flows import former_flows
from replication.naming.name_changes import name_changes, spent, unnamed_copies
from replication.planning.target_snapshot import read_copied, read_others
from replication.state import NameDecision, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from replication.client.admin import TopicInfo
    from replication.naming.name_changes import Changes
    from replication.naming.topic_namer import Namer
    from replication.settings.naming_settings import MappedName
    from replication.state import Anchor, Stored

    Decisions = Callable[[], Mapping[str, NameDecision]]


class AnchorStore(Protocol):
    """What is needed of the state store."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...
    def read_all(self, topics: Collection[str]) -> Iterable[Stored]: ...
    def write(self, topic: str, *records: Stored) -> None: ...


class NamesInUse:
    """The changed names of one flow.

    ``decisions`` returns the operator's, by topic; ``arrivals`` the anchors of flows into the
    source. ``known_flows`` are those of the file.
    """

    def __init__(
        self,
        namer: Namer,
        store: AnchorStore,
        decisions: Decisions,
        arrivals: Callable[[], Iterable[Anchor]] = tuple,
        known_flows: Collection[str] = (),
    ) -> None:
        self.warnings: tuple[str, ...] = ()  # of copies under a former alias
        self._flow = namer.flow
        self._selector = namer.selector
        self._store = store
        self._decisions = decisions
        self._arrivals = arrivals
        self._known_flows = known_flows
        self._seen: frozenset[str] = frozenset()  # topics that were looked up in ``arrivals``
        self._copies: dict[str, MappedName] = {}
        self._known: frozenset[str] = frozenset()  # of the last plan: their anchors were read
        self._former: tuple[Anchor, ...] = ()  # anchors of topics whose name changed
        self._moving = False

    def copies(self, selected: Collection[str]) -> Mapping[str, MappedName]:
        """Return those of the ``selected`` topics that would come back, but for their names.

        Raises ClusterUnavailable.
        """
        if frozenset(selected) - self._seen:
            arrivals, flows = self._arrivals(), self._known_flows
            found = unnamed_copies(self._flow, self._selector, arrivals, flows)
            self._copies = {each.target: each for each in found}
            self._seen |= frozenset(selected)
        return {each: self._copies[each] for each in selected if each in self._copies}

    def changes(
        self,
        selected: Collection[str],
        theirs: Mapping[str, TopicInfo],
        ours: Mapping[str, TopicInfo],
    ) -> Changes:
        """Return the changed names of the ``selected`` topics; withdraw decisions that are done.

        ``theirs`` are the source's topics, ``ours`` the target's. Raises ClusterUnavailable.
        """
        counts = {each: theirs[each].partitions for each in selected}
        new = frozenset(selected) - self._known
        if new or self._moving:
            anchors = read_copied(self._flow, self._store)
            found = self._of(anchors, counts)
            if not (anchors or self._known):
                others = read_others(ours, self._store)
                ids = {name: each.topic_id for name, each in theirs.items()}
                self.warnings = tuple(
                    former_flows(self._flow.name, self._selector, ids, others, self._known_flows)
                )
            self._former = tuple(each for each in anchors if each.topic in found)
        else:
            found = self._of(self._former, counts) if self._former else {}
        self._known = frozenset(selected)
        self._moving = any(each.in_use == each.new for each in found.values())
        self._withdraw(found, counts)
        return found

    def _of(self, anchors: Iterable[Anchor], counts: Mapping[str, int]) -> Changes:
        return name_changes(self._flow, self._selector, anchors, self._decisions(), counts)

    def _withdraw(self, found: Changes, counts: Mapping[str, int]) -> None:
        about = [each for each in self._decisions().values() if each.topic in counts]
        done = [NameDecision(each.flow, each.topic) for each in spent(about, found)]
        if done:
            self._store.write(status_topic(self._flow.source), *done)
