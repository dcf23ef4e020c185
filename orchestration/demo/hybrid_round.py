"""The smoke test of the hybrid example: merged, enriched into a further topic, and to Parquet.

Records are written to two regions while a worker and a driver are killed. At the end the merged
topics have each region's records once, the enriched topics have the result of each merged record
once and in order, and the files have each record of the enriched topics once.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from orchestration.demo.enriched_files import EnrichedFiles
from orchestration.demo.smoke import PARTITIONS, TOPICS, Smoke
from orchestration.demo.smoke_verdict import SmokeVerdict, compare_all
from orchestration.flows.kafka_clients import read_config
from replication.adapters.topics.record_reader import RecordReader
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Content = tuple[Any, ...]

NAME = "hybrid"
_MARK = b"enriched "


@dataclass(slots=True)
class HybridRound(Smoke):
    """One run, in its own state directory."""

    def compare(self) -> SmokeVerdict:
        """Compare the merged topics, the enriched ones, and the files; add up the differences."""
        sites = tuple(each for each in self.scenario.clusters if each != "analytics")
        links = tuple(each for each in self.scenario.links if each.target == "central")
        merge = replace(self.scenario, clusters=sites, links=links)
        clients = {name: self._client(name) for name in sites}
        merged = compare_all(merge, clients, TOPICS, self.written)
        files = self._files()
        enriched, exported = Counter[str](), Counter[str]()
        for where in (TopicPartition(t, n) for t in TOPICS for n in range(PARTITIONS)):
            source, target = self._contents("central", where), self._contents("analytics", where)
            enriched += differences([_enriched(each) for each in source], target)
            exported += differences(target, files.get(where, []))
        return SmokeVerdict(
            merged.records,
            merged.lost + enriched["lost"] + exported["lost"],
            merged.repeated + enriched["repeated"] + exported["repeated"],
            merged.different + enriched["different"] + exported["different"],
            merged.copied_back,
            merged.missing,
        )

    def _files(self) -> dict[TopicPartition, list[Content]]:
        """Export twice, the second time what came since, and read all files."""
        config = read_config(self.staged.config)
        flow = config.flow("central->analytics")
        files = EnrichedFiles(config, flow, set(TOPICS), self.root / "files")
        files.export()
        files.export()
        found: dict[TopicPartition, list[Content]] = {}
        for run in files.runs():
            rows = ds.dataset(run, format="parquet").to_table().to_pylist()
            for row in sorted(rows, key=lambda each: each["offset"]):
                where = TopicPartition(row["topic"], row["partition"])
                headers = tuple((each["name"], each["value"]) for each in row["headers"])
                content = row["key"], row["value"], headers, row["timestamp"]
                found.setdefault(where, []).append(content)
        return found

    def _contents(self, cluster: str, where: TopicPartition) -> list[Content]:
        """Return the committed records of a partition."""
        with closing(RecordReader(self._client(cluster), "read_committed")) as reader:
            end = reader.bounds(where).end
            return [(e.key, e.value, e.headers, e.time[0]) for e in reader.read(where, end, 0)]


def differences(source: Sequence[Content], target: Sequence[Content]) -> Counter[str]:
    """Return how many records are lost, repeated, or different; those out of order are that too."""
    here, there = Counter(source), Counter(target)
    lost, more = here - there, there - here
    repeated = sum(count for each, count in more.items() if each in here)
    out_of_order = 0 if lost or more else sum(a != b for a, b in _pairs(source, target))
    return Counter(
        lost=lost.total(), repeated=repeated, different=more.total() - repeated + out_of_order
    )


def _pairs(source: Sequence[Content], target: Sequence[Content]) -> Iterable[tuple[Any, Any]]:
    return zip(source, target, strict=True)


def _enriched(record: Content) -> Content:
    key, value, headers, timestamp = record
    return key, None if value is None else _MARK + value, headers, timestamp
