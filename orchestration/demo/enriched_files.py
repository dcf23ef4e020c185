"""Brings the hybrid example's enriched topics to Parquet, each record once.

A run exports the committed records since the last one to a directory of its own, and only then
notes how far it came. A run that is killed is repeated with the same directory, which it replaces.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.failback.tail_export import export_records
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.local.files import make_private, write_whole
from replication.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


@dataclass(frozen=True, slots=True)
class EnrichedFiles:
    """The files of some topics on the target of a flow."""

    config: Config
    flow: Flow
    topics: Collection[str]
    folder: Path

    def export(self) -> Mapping[TopicPartition, OffsetRange]:
        """Export what is new; return its offsets. Raises ReplicationError."""
        number, reached = self._progress()
        ranges = {
            each: OffsetRange(reached.get(each, 0), end)
            for each, end in self._ends().items()
            if end > reached.get(each, 0)
        }
        if not ranges:
            return {}
        parts = [
            {"topic": e.topic, "partition": e.partition, "ranges": [span], "of_target": True}
            for e, span in sorted(ranges.items())
        ]
        make_private(self.folder)
        export_records(self.config, self.flow, parts, self.folder / f"run-{number + 1:06d}")
        after = {**reached, **{each: span.end for each, span in ranges.items()}}
        listed = [[*each, offset] for each, offset in sorted(after.items())]
        write_whole(self._note, json.dumps({"runs": number + 1, "next": listed}))
        return ranges

    def runs(self) -> list[Path]:
        """Return the directories with the Parquet files of all finished runs."""
        number, _ = self._progress()
        return [self.folder / f"run-{each:06d}" / "parquet" for each in range(1, number + 1)]

    @property
    def _note(self) -> Path:
        return self.folder / "progress.json"

    def _progress(self) -> tuple[int, dict[TopicPartition, int]]:
        if not self._note.exists():
            return 0, {}
        found = json.loads(self._note.read_text())
        return found["runs"], {TopicPartition(t, p): offset for t, p, offset in found["next"]}

    def _ends(self) -> Mapping[TopicPartition, int]:
        admin = KafkaAdmin(to_librdkafka(self.flow.clients.target_admin))
        there = {name: each for name, each in admin.topics().items() if name in self.topics}
        return admin.end_offsets(
            TopicPartition(name, number)
            for name, each in there.items()
            for number in range(each.partitions)
        )
