"""Who writes to a flow's source, and who reads there: asked before clients move to the target."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.comparison.topic_comparison import Options
from orchestration.flows.unknown_ends import unknown_end
from orchestration.switchover.switchover_report import still_writing
from replication.errors import ClusterRejected
from replication.naming.policy import is_heartbeat, policy_for
from replication.offsets.groups.consumer_groups import IDLE
from replication.provenance.origins import rule_of
from replication.recovery.source_writers import SourceWriters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestration.flows.observation.clients import ClusterClients
    from replication.adapters.offset_reader import OffsetReader
    from replication.model import TopicPartition
    from replication.offsets.groups.group_sync import GroupSync
    from replication.offsets.groups.sync_round import TranslatedPosition
    from replication.recovery.source_writers import Writer
    from replication.recovery.switchover import SwitchoverOptions
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_EVERY = re.compile(".*")
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class SourceClients:
    """The clients of the topics that a flow copies. Raises ClusterUnavailable, ClusterRejected."""

    flow: Flow
    config: Config
    clusters: ClusterClients
    reader: OffsetReader
    sync: GroupSync

    def comparison(self, tail: int | None = None) -> FlowComparison:
        """Return the comparison of all that the flow copies, or of its ``tail``; close it."""
        options = Options(self.flow.copying.isolation, tail=tail)
        return FlowComparison(self.flow, self.config, _EVERY, options)

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions that clients write to: all of the flow's, but heartbeats."""
        policy = policy_for(self.flow, self.config.clusters)
        with self.comparison() as comparison:
            partitions = comparison.selected_partitions
        return [each for each in partitions if not is_heartbeat(policy, each.topic)]

    def topics(self) -> frozenset[str]:
        """Return the topics of these partitions."""
        return frozenset(each.topic for each in self.partitions())

    def wait_until_quiet(self, options: SwitchoverOptions, left_s: float) -> str:
        """Wait until nobody has written for a while, ``left_s`` of the timeout at most.

        Raises ClusterRejected after it, which says who wrote last; at once if too little is left:
        writes may be denied meanwhile.
        """
        if left_s < options.quiet_s:  # tries before this one took the rest
            raise self._not_known(options)
        partitions = self.partitions()
        writers = self._writers(partitions)
        self.reader.run(writers.begin(partitions))
        begun = quiet_since = time.monotonic()
        seen: dict[TopicPartition, tuple[float, Writer]] = {}
        while (now := time.monotonic()) - quiet_since < options.quiet_s:
            if now - begun > left_s:
                since = now - options.quiet_s
                last = [each for at, each in seen.values() if at > since]
                raise self._still_written(last) if last else self._not_known(options)
            for each in self.reader.run(writers.look(self._readable(partitions))):
                quiet_since = time.monotonic()
                seen[each.partition] = quiet_since, each
            time.sleep(_POLL_S)
        return f"no producer wrote to {self.flow.source} for {options.quiet_s:g} s"

    def require_unwritten(self, positions: Mapping[TopicPartition, int]) -> None:
        """Raise ClusterRejected, saying who wrote, if there are records behind ``positions``.

        A partition without one must be empty.
        """
        partitions = self.partitions()
        writers = self._writers(partitions)
        writers.positions = {each: positions.get(each, 0) for each in partitions}
        found = self.reader.run(writers.look(self._readable(partitions)))
        if found:
            raise self._still_written(found)

    def consuming(self, groups: Iterable[TranslatedPosition]) -> tuple[str, ...]:
        """Return those of the flow's groups that have members on the source, in order."""
        names, listed = {each.group for each in groups}, self.sync.source.listed()
        active = {name for name, each in listed.items() if each.state not in IDLE}
        return tuple(sorted(names & active))

    def _writers(self, partitions: Iterable[TopicPartition]) -> SourceWriters:
        anchors = self.reader.look().anchors
        target = self.reader.target.cluster_id
        rules = {
            each: rule_of(anchors[each].origins, target) if each in anchors else None
            for each in partitions
        }
        return SourceWriters(self.reader.source, rules)

    def _readable(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the last stable offsets. Raises as ``unknown_end`` says unless all are known."""
        source = self.clusters.source(self.flow)
        found = source.end_offsets(partitions)
        missing = sorted(set(partitions) - found.keys())
        if missing:
            raise unknown_end(source, missing[0], self.flow.source)
        return found

    def _not_known(self, options: SwitchoverOptions) -> ClusterRejected:
        return ClusterRejected(
            f"whether producers write to {self.flow.source} is unknown: in {options.timeout_s:g} s "
            f"(--timeout) it did not answer for {options.quiet_s:g} s (--quiet) without a break; "
            "see isthmus doctor FILE, and run this again"
        )

    def _still_written(self, writers: Sequence[Writer]) -> ClusterRejected:
        numbers = {each.producer_id for each in writers if each.producer_id is not None}
        names = self.reader.run(self.reader.source.transactional_ids(numbers)) if numbers else {}
        return ClusterRejected(still_writing(writers, names, self.flow.source))
