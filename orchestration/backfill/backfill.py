"""Plans a backfill of a flow, and carries it out: a bounded batch flow beside the stream."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from orchestration.backfill.file_positions import appended_from_files
from orchestration.backfill.history import TopicFacts, handed_over, history_of, objection_to
from orchestration.flows.batch_run import BatchRunner, RunOutcome
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.adapters.clients import KafkaClients
from replication.adapters.local.files import make_private, write_whole
from replication.adapters.offset_reader import OffsetReader
from replication.config.backfill_file import BoundedTopic, Budget, backfill_file, topic_map
from replication.config.file.values import start
from replication.errors import ConfigError, EnvironmentProblem
from replication.model import TopicPartition
from replication.provenance.routes import Routes
from replication.state import PRODUCERS_TOPIC, Anchor, anchors_topic
from replication.state.backfill_names import BackfillNames
from replication.supervision.driver_supervision import applications
from replication.transforms.topic_transforms import TopicTransforms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from orchestration.backfill.history import PartitionHistory
    from orchestration.flows.batch_run import RunProgress
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

EARLIEST = "earliest"
_NICER = 5  # so that streams get the CPU first


class HistorySelection(NamedTuple):
    """Which history is wanted: of topics whose names match in full, from ``begin`` on.

    ``begin``: ``earliest``, a source offset, or ``@`` and a moment in ms.
    """

    topics: re.Pattern[str]
    begin: str = EARLIEST


def history_selection(topics: str, begin: str) -> HistorySelection:
    """Read what a person wrote. Raises ConfigError."""
    try:
        pattern = re.compile(topics)
    except re.error as error:
        raise ConfigError(f"topics {topics!r} is not a regular expression: {error}") from error
    if begin == EARLIEST or begin.isdecimal():
        return HistorySelection(pattern, begin)
    try:
        return HistorySelection(pattern, f"@{int(start(begin))}")
    except ValueError:
        raise ConfigError(
            f"from {begin!r} is not valid: write earliest, a time such as 2026-05-01T08:00:00Z, or "
            "an offset such as 1200"
        ) from None


@dataclass(slots=True)
class Backfill:
    """The backfill of one flow. The stream may run or rest; its own state is not touched."""

    flow: Flow
    config: Config
    state_directory: StateDirectory
    budget: Budget
    names: BackfillNames = field(init=False)
    _clients: KafkaClients = field(default_factory=KafkaClients)

    def __post_init__(self) -> None:
        self.names = BackfillNames(self.flow.source, self.flow.target)

    @property
    def file(self) -> Path:
        """The backfill's own file, by which its progress and its copies can be looked at."""
        return self._own_directory.root / "backfill.properties"

    @property
    def _own_directory(self) -> StateDirectory:
        return StateDirectory(self.state_directory.root / "backfills" / self.names.stem)

    def plan(self, selection: HistorySelection) -> tuple[PartitionHistory, ...]:
        """Return the history of each partition that the stream copies, in their order.

        Reads only. Raises ClusterUnavailable, ClusterRejected.
        """
        reader, there = OffsetReader(self.flow), self._clients.source(self.flow).topic_names()
        try:
            known = reader.look()
            anchors = [
                anchor
                for where, anchor in sorted(known.anchors.items())
                if where.topic in there and selection.topics.fullmatch(where.topic)
            ]
            begins = self._begins(reader, [_place(each) for each in anchors], selection.begin)
            points = {_place(e): known.points[_place(e)].values() for e in anchors}
        finally:
            reader.close()
        objections, done = self._objections(anchors), self._done()
        return tuple(
            history_of(
                each,
                handed_over(each, points[_place(each)]),
                begins[_place(each)],
                done.get(_place(each)),
                objections.get(each.topic, ""),
            )
            for each in anchors
        )

    def _begins(
        self, reader: OffsetReader, partitions: Sequence[TopicPartition], begin: str
    ) -> Mapping[TopicPartition, int | None]:
        """Return the first wanted offset of each partition that the source still has.

        Behind what was appended from files.
        """
        starts = {w: each.start for w, each in reader.ends(partitions, target=False).items()}
        appended = appended_from_files(self.flow, self._clients)
        if begin.startswith("@"):
            found = reader.source_offsets(partitions, int(begin[1:]))
            return {
                e: None if at is None else max(at, appended.get(e, 0)) for e, at in found.items()
            }
        least = 0 if begin == EARLIEST else int(begin)
        return {each: max(start, least, appended.get(each, 0)) for each, start in starts.items()}

    def _objections(self, anchors: Iterable[Anchor]) -> Mapping[str, str]:
        """Return why topics are not backfilled, by topic; empty: they are."""
        targets = {each.topic: each.target_topic for each in anchors}
        routes = Routes.of(self.config.flows, self.config.clusters)
        transforms = TopicTransforms(self.flow.transforms)
        source = self._clients.source(self.flow)
        has_copies = PRODUCERS_TOPIC in source.topic_names()  # some flow copies to the source
        here = source.topic_configs(targets)
        there = self._clients.target(self.flow).topic_configs(targets.values())
        return {
            topic: objection_to(
                TopicFacts(
                    tuple(
                        each.get("cleanup.policy", "")
                        for each in (here.get(topic, {}), there.get(target, {}))
                    ),
                    transformed=bool(self.flow.transforms) and transforms.of(topic) is not None,
                    kept_apart=has_copies and bool(routes.rule(self.flow.name, topic)),
                    stamped=self.flow.provenance_headers,
                )
            )
            for topic, target in targets.items()
        }

    def _done(self) -> Mapping[TopicPartition, int]:
        """Return up to where each partition was copied by earlier runs."""
        found = self._clients.store(self.flow).read(anchors_topic(self.names.source_alias))
        mine = (each for each in found.values() if isinstance(each, Anchor))
        return {
            _place(each): each.source
            for each in mine
            if each.flow == self.names.flow and each.source is not None
        }

    def carry_out(
        self, plan: Sequence[PartitionHistory], tell: Callable[[RunProgress], None]
    ) -> RunOutcome:
        """Copy the history of ``plan``. Raises ConfigError where there is none, and as BatchRunner.

        A run that was cut off is continued by the next one. Without anything left none is started.
        """
        parts = [
            BoundedTopic(each.source, each.target_topic, each.begin, each.end)
            for each in plan
            if not each.refused and each.end > each.begin
        ]
        if not parts:
            raise ConfigError(f"{self.flow.name}: there is no history to copy")
        if not any(each.left for each in plan):
            return RunOutcome(self.names.flow, "")
        self._write(parts)
        derived = read_config(self.file)
        if derived.spark.master.startswith("local"):
            os.nice(max(0, _NICER - os.nice(0)))
        (flow,), (app,) = derived.flows, applications(derived)
        launcher = Launcher(self._own_directory, self.file)
        return BatchRunner(flow, app, KafkaClusters(), launcher, tell).run()

    def _write(self, parts: Sequence[BoundedTopic]) -> None:
        names = self._own_directory.root / "topics.map"
        text = backfill_file(self.config, self.names, parts, self.budget, str(names))
        try:
            make_private(
                self.state_directory.root, self._own_directory.root.parent, self._own_directory.root
            )
            write_whole(names, topic_map(parts))
            write_whole(self.file, text)
        except OSError as error:
            raise EnvironmentProblem(
                f"writing {self._own_directory.root}: {error.strerror}"
            ) from error


def _place(anchor: Anchor) -> TopicPartition:
    return TopicPartition(anchor.topic, anchor.partition)
