"""The steps of a failback on the flow's clusters; each may run twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.failback.tail_export import export_tail
from orchestration.flows.intents import signature, write_intent
from orchestration.flows.observe import now_ms
from orchestration.recovery.flow_operation import FlowOperation, opened
from orchestration.recovery.source_clients import wait_until_copied
from orchestration.recovery.switchover import Switchover
from replication.errors import ConfigError
from replication.model import Desired, TopicPartition
from replication.planning.explain import counted
from replication.recovery.diverged_tail import TailOffsets, find_tail
from replication.recovery.failback import DRAIN, SINCE, FailbackOptions, kept_tail
from replication.recovery.procedure import DONE, stopped_by
from replication.recovery.switchover import SWITCHOVER
from replication.state import DivergedTail, anchors_topic, offsets_topic, status_topic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from orchestration.recovery.operator import Work
    from orchestration.recovery.switchover_report import SwitchoverReport
    from replication.settings.sections import Flow
    from replication.state import Operation, ProvenPosition, Stored


@dataclass(slots=True)
class FailbackSteps(FlowOperation):
    """What each step of a failback does. All raise ReplicationError where one cannot succeed."""

    options: FailbackOptions = field(default_factory=FailbackOptions)
    moved: SwitchoverReport | None = None  # what the switchover found, if it was carried out

    @property
    def back(self) -> Flow:
        """The flow from the target to the source. Raises ConfigError if the file has none."""
        if (back := self.config.flow_back(self.flow)) is not None:
            return back
        name = f"{self.flow.target}->{self.flow.source}"
        raise ConfigError(
            f"{self.config.path} has no flow {name}, by which {self.flow.source} gets what clients "
            f"wrote on {self.flow.target}: add {name}.enabled = true and its topics, and run it"
        )

    def works(self) -> Mapping[str, Work]:
        """Return what carries out each step, by its name."""
        return {
            "find tail": self._find_tail,
            "export tail": self._export_tail,
            "merge tail": lambda _: f"{self.flow.name} will copy the tail once it runs",
            "keep tail": self._keep_tail,
            "resume": self._resume_both,
            DRAIN: self._drain,
            "switch over": self._switch_over,
            "close target": self._close,
        }

    def tails(self, operation: Operation) -> tuple[DivergedTail, ...]:
        """Return the tails that an operation found."""
        found = self._records(DivergedTail)
        return tuple(each for each in found if each.operation == operation.id)

    def look_for_tails(
        self, positions: tuple[ProvenPosition, ...]
    ) -> dict[TopicPartition, TailOffsets]:
        """Return the tail of each partition as it is now, in order."""
        anchors = self.reader.look().anchors
        found = {}
        self.reader.run(self.reader.source.refresh({each.topic for each in positions}))
        for each in sorted(positions, key=lambda p: (p.topic, p.partition)):
            where = TopicPartition(each.topic, each.partition)
            begin = anchors[where].source or 0
            tail = find_tail(self.reader.source_log(where), begin, max(0, each.source - begin))
            found[where] = self.reader.run(tail)
        return found

    def tails_now(
        self, positions: tuple[ProvenPosition, ...], operation: str = ""
    ) -> tuple[DivergedTail, ...]:
        """Return the records of the tails as they are now."""
        found = self.look_for_tails(positions)
        pairs = [(each, found[TopicPartition(each.topic, each.partition)]) for each in positions]
        return tuple(
            DivergedTail(
                self.flow.name, operation, each.topic, each.partition,
                tail.first, tail.end, tail.records, each.whole,
            )
            for each, tail in pairs
        )  # fmt: skip

    def _find_tail(self, operation: Operation) -> str:
        tails = self.tails_now(self.proven(operation.options[SINCE]), operation.id)
        self.operator.store.write(status_topic(self.flow.source), *tails)
        records = sum(each.records for each in tails)
        parts = sum(each.records > 0 for each in tails)
        return f"{counted(records, 'record')} of {counted(parts, 'partition')} are the tail"

    def _export_tail(self, operation: Operation) -> str:
        found = self.look_for_tails(self.proven(operation.options[SINCE]))
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
        with self._way_back() as work:
            last = work.operator.last()
            if last is not None and last.writable == self.flow.source:  # clients have left it
                work.operator.end_undone(last)
        write_intent(self.back, Desired.RUN, self.clusters)
        return f"{self.flow.name} and {self.back.name} will run within seconds"

    def _drain(self, _: Operation) -> str:
        limit_s = self.options.moves.timeout_s
        told = (wait_until_copied(each, self.config, limit_s) for each in (self.flow, self.back))
        return "; ".join(told)

    def _switch_over(self, operation: Operation) -> str:
        with self._way_back() as work:
            last = work.operator.last()
            if last is None or not _is_ours(last, operation, self.flow.source):
                work.options = self.options.moves
                self.moved = work.carry_out()
        return f"clients move to {self.flow.source}: point producers and consumers there"

    def _way_back(self) -> AbstractContextManager[Switchover]:
        return opened(Switchover, self.back, self.config, self.clusters, self.operator.say)

    def _close(self, _: Operation) -> str:
        self.operator.amend(writable="")
        return f"{self.flow.target} is closed; {self.flow.name} copies to it"


def _is_ours(last: Operation, operation: Operation, source: str) -> bool:
    """Say whether a switchover that ended is the one of this failback."""
    ended = (last.verb, last.state, last.writable) == (SWITCHOVER, DONE, source)
    return ended and last.started_ms >= operation.started_ms
