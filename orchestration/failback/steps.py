"""The steps of a failback on the flow's clusters; each may run twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.failback.deleted_topic import only_here
from orchestration.failback.tail_export import export_tail
from orchestration.failback.tails import FailbackTails
from orchestration.failback.topic_recreation import TopicRecreation
from orchestration.flows.intents import signature, write_intent
from orchestration.recovery.group_actions import committed, named
from replication.clock import now_ms
from replication.errors import ClusterUnavailable, ReplicationError
from replication.model import Desired, TopicPartition
from replication.offsets.groups.consumer_groups import IDLE
from replication.planning.explain import counted
from replication.recovery.failback import DRAIN, SINCE, kept_tail
from replication.recovery.procedure import DONE, stopped_by
from replication.recovery.switchover import SWITCHOVER
from replication.state import anchors_topic, offsets_topic, status_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.recovery.operator import Work
    from orchestration.switchover.switchover import Switchover
    from orchestration.switchover.switchover_report import SwitchoverReport
    from replication.state import Operation, Stored

_SWITCH_OVER = "switch over"


@dataclass(slots=True)
class FailbackSteps(FailbackTails):
    """What each step of a failback does. All raise ReplicationError where one cannot succeed."""

    moved: SwitchoverReport | None = None  # what the switchover found, if it was carried out

    def works(self) -> Mapping[str, Work]:
        """Return what carries out each step, by its name."""
        return {
            "find tail": self._find_tail,
            "export tail": self._export_tail,
            "merge tail": lambda _: f"{self.flow.name} will copy the tail once it runs",
            "keep tail": self._keep_tail,
            "note topics": lambda operation: TopicRecreation(self).note(operation),
            "recreate topics": lambda operation: TopicRecreation(self).recreate(operation),
            "resume": self._resume_both,
            DRAIN: self._drain,
            _SWITCH_OVER: self._switch_over,
            "set groups": self._set_groups,
            "set other groups": self._set_other_groups,
            "close target": self._close,
        }

    def _find_tail(self, operation: Operation) -> str:
        tails = self.tails_now(self.proven(operation.options[SINCE]), operation.id)
        self.operator.store.write(status_topic(self.flow.source), *tails)
        records = sum(each.records for each in tails)
        parts = sum(each.records > 0 for each in tails)
        return f"{counted(records, 'record')} of {counted(parts, 'partition')} are the tail"

    def _export_tail(self, operation: Operation) -> str:
        positions = self.proven(operation.options[SINCE])
        found = self.look_for_tails(positions)
        if self.options.truncates:  # all that the source alone has goes with the topic
            topics = {where.topic for where, tail in found.items() if tail.records}
            for where, ranges in only_here(
                self, [p for p in positions if p.topic in topics]
            ).items():
                found[where].ranges = [*ranges, *found[where].ranges]
        return export_tail(self.config, self.flow, found, self.options.export)

    def _keep_tail(self, operation: Operation) -> str:
        known = self.reader.look()
        by_place = {(each.topic, each.partition): each for each in self.tails(operation)}
        points: list[Stored] = []
        records: list[Stored] = []
        for each in self.proven(operation.options[SINCE]):
            anchor = known.anchors[TopicPartition(each.topic, each.partition)]
            new = kept_tail(anchor, each, by_place[each.topic, each.partition], now_ms())
            points += new[0]
            records += new[1]
        self.operator.store.write(offsets_topic(self.flow.source), *points)
        self.operator.store.write(anchors_topic(self.flow.source), *records)
        left = sum(each.records for each in by_place.values())
        return f"{counted(left, 'record')} stay on {self.flow.source} alone"

    def _resume_both(self, operation: Operation) -> str:
        by = f"{signature()}, {stopped_by(operation)}"
        write_intent(self.flow, Desired.RUN, self.clusters, by=by)
        with self.way_back() as work:
            last = work.operator.last()
            if last is not None and last.writable == self.flow.source:  # clients have left it
                work.operator.end_undone(last)
        write_intent(self.back, Desired.RUN, self.clusters)
        return f"{self.flow.name} and {self.back.name} will run within seconds"

    def _drain(self, _: Operation) -> str:
        limit_s = self.options.moves.timeout_s
        return "; ".join(self.copied(each, limit_s) for each in (self.flow, self.back))

    def _switch_over(self, operation: Operation) -> str:
        with self.way_back() as work:
            if self._switchover_of(operation, work) is None:
                self.moved = work.carry_out()
        return f"clients move to {self.flow.source}: point producers and consumers there"

    def recall_switchover(self, done: Operation) -> str:
        """Look at what the switchover found, where another attempt carried it out.

        Return why that is not known now; empty: it is. No step needs it, so it prevents none.
        """
        if self.moved is not None or all(name != _SWITCH_OVER for name, _, _ in done.done):
            return ""
        try:
            with self.way_back() as work:
                if (last := self._switchover_of(done, work)) is not None:
                    self.moved = work.result(last)
        except ReplicationError as error:
            return str(error)
        return ""

    def _switchover_of(self, operation: Operation, back: Switchover) -> Operation | None:
        """Return the switchover of this failback, if it has ended."""
        last = back.operator.last()
        ours = last is not None and _is_ours(last, operation, self.flow.source)
        return last if ours else None

    def _set_groups(self, _: Operation) -> str:
        """Set the groups' offsets on the source once; the running flow goes on with them.

        What time does not help is left, and named. Raises ClusterUnavailable where some are not
        known now.
        """
        from replication.adapters.group_syncs import opened_sync  # noqa: PLC0415 - on first use

        with opened_sync(self.back, self.config) as (sync, _reader):
            found = sync.plan()
            if found.unread:
                raise ClusterUnavailable(f"some groups were not read: {found.unread}")
            count, left = committed(sync.target, (*found.actions, *found.unknown))
            states = {each.name: each.state for each in sync.target.listed().values()}
        # Clients stay on both clusters: a group that consumes there needs no other offset.
        self.operator.note_left(e for e in left if states.get(e.group, "Empty") in IDLE)
        groups = counted(len({each.group for each in found.translated}), "group")
        late = f"; {counted(found.waiting, 'offset')} not copied yet" if found.waiting else ""
        undecided = len(found.undecided)
        opened = f"; {counted(undecided, 'offset')} in open transactions" if undecided else ""
        return (
            f"set the offsets of {count} of {groups}{late}{opened}{named(left)}; clients stay "
            "on both clusters"
        )

    def _set_other_groups(self, operation: Operation) -> str:
        did, left = TopicRecreation(self).set_groups(operation)
        self.operator.note_left(left)
        return did

    def _close(self, _: Operation) -> str:
        self.operator.amend(writable="")
        return f"{self.flow.target} is closed; {self.flow.name} copies to it"


def _is_ours(last: Operation, operation: Operation, source: str) -> bool:
    """Say whether a switchover that ended is the one of this failback."""
    ended = (last.verb, last.state, last.writable) == (SWITCHOVER, DONE, source)
    return ended and last.started_ms >= operation.started_ms
