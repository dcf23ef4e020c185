"""The smoke test of a disaster: a cluster is lost, clients move, it returns, they move back.

Two clusters copy the same topics into each other. Clients write on ``east`` when its broker is
killed; they go on on ``west`` after a failover, and return with a failback that merges what never
arrived. At the end every record of either side has to be once on both.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from orchestration.demo.event_producer import Load, write
from orchestration.demo.scenarios import scenario
from orchestration.demo.smoke import PARTITIONS, TOPICS, Smoke
from orchestration.demo.smoke_verdict import compare_all
from orchestration.failback.failback import Failback
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.recovery.failover import Failover
from orchestration.recovery.opened_operation import Kind, opened
from replication.adapters.topics.record_reader import RecordReader
from replication.errors import EnvironmentProblem
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import CommitGroup, Committed, Group
from replication.recovery.failback import FailbackOptions
from replication.recovery.switchover import SwitchoverOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from orchestration.demo.smoke import Views
    from orchestration.demo.smoke_verdict import SmokeVerdict
    from orchestration.failback.failback_report import FailbackReport
    from orchestration.recovery.failover_report import FailoverReport

    Positions = Mapping[TopicPartition, Committed]
    First = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]

NAME = "failover"
PLAYED = scenario("active-active")
HERE, THERE = PLAYED.clusters
GROUPS = {"smoke-behind": 0.1, "smoke-half-way": 0.5, "smoke-close": 0.9}  # of what was written
_PORTION = 2_500  # records, twice a second
_BEFORE_S, _SYNC_S = 8.0, 4.0
_LIMIT_S = 120.0
_SETTINGS = "sync.group.offsets.enabled = true\nsync.group.offsets.interval.seconds = 1\n"


@dataclass(slots=True)
class FailoverRound(Smoke):
    """One round, in its own state directory."""

    rto_s: float = 0.0  # from the command until every group has its first record
    lost: FailoverReport | None = None  # what the failover said
    returned: FailbackReport | None = None  # what the failback found
    problems: list[str] = field(default_factory=list)
    _here: int = 0  # records written
    _there: int = 0
    _ending: threading.Event = field(default_factory=threading.Event)
    _writer: threading.Thread | None = None
    _committed: dict[str, Positions] = field(default_factory=dict)  # of groups, on ``HERE``
    _first: dict[str, dict[TopicPartition, First]] = field(default_factory=dict)

    def start_clusters(self) -> None:
        """Start the clusters; the flows carry groups over each second."""
        Smoke.start_clusters(self)
        with self.staged.config.open("a") as file:
            file.write(_SETTINGS)

    def lose_source(self) -> None:
        """Write, commit groups' offsets, and kill the broker while records are written."""
        self._writer = threading.Thread(target=self._write_on, daemon=True)
        self._writer.start()
        time.sleep(_BEFORE_S)
        with self._opened(Failover) as work:
            ends = work.reader.ends(self._partitions, target=False)
            for name, part in GROUPS.items():
                positions = {
                    each: Committed(int(bounds.end * part)) for each, bounds in ends.items()
                }
                self._committed[name] = positions
                work.sync.source.listed()  # which also finds the coordinators
                if refused := work.sync.source.commit([CommitGroup(name, positions)]):
                    raise EnvironmentProblem(f"committing offsets on {HERE}: {refused}")
        time.sleep(_SYNC_S)
        self.staged.cluster(HERE).kill(1)
        self._ending.set()  # the records of the present portion are acked once it is back

    def fail_over(self) -> None:
        """Carry the failover out, and read the first record of each group on the target."""
        began = time.monotonic()
        with self._opened(Failover) as work:
            self.lost = work.carry_out()
            work.sync.target.listed()
            held = work.sync.target.positions(Group(name) for name in GROUPS)
        for name in GROUPS:
            self._first[name] = self._records_at(THERE, held.get(name, {}))
            if not self._first[name]:
                self.problems.append(f"group {name} has no record on {THERE}")
        self.rto_s = time.monotonic() - began

    def work_on_target(self) -> None:
        """Write on the target, as clients do meanwhile."""
        for seed in range(4):
            self._there += self._write(THERE, 1_000 + seed)

    def return_of_source(self) -> None:
        """Start the lost cluster again; its producers end what they were about to write."""
        self.staged.cluster(HERE).start()
        if self._writer is not None:
            self._writer.join(_LIMIT_S)
        for name, positions in self._committed.items():
            there = self._first.get(name, {})
            for where, record in self._records_at(HERE, positions).items():
                if there.get(where) != record:
                    self.problems.append(f"group {name} continued at another record of {where}")

    def fail_back(self) -> None:
        """Merge what never arrived, and move the clients back."""
        moves = SwitchoverOptions(timeout_s=_LIMIT_S, quiet_s=3.0)
        options = FailbackOptions(export=str(self.root / "tail"), moves=moves)
        with self._opened(partial(Failback, options=options)) as work:
            self.returned = work.carry_out()
        self._compare_with_announcement()

    def _compare_with_announcement(self) -> None:
        """Note where the records that were missing are not those that the failover named."""
        if self.lost is None or self.returned is None:
            raise RuntimeError("there was no failover, or no failback")
        named = {each.partition: each for each in self.lost.point.partitions}
        for each in self.returned.tails:
            where = TopicPartition(each.topic, each.partition)
            if each.records and each.first < named[where].first:
                self.problems.append(
                    f"{where}: offset {each.first} is missing, and the failover did not report it"
                )
            if each.records < named[where].records and named[where].exact:
                self.problems.append(
                    f"{where}: fewer records are missing than the failover reported"
                )

    def drain(self) -> None:
        """Write on the source again, and wait until all is copied."""
        self._here += self._write(HERE, 2_000)

        def copied(views: Views) -> bool:
            ends = self._ends()
            mine = [each for each in views if each.name == f"{HERE}->{THERE}"]
            return all(self._reaches(each, ends) for each in mine)

        self._wait(copied, "copying the rest", _LIMIT_S)

    def compare(self) -> SmokeVerdict:
        """Compare every record of either side on both."""
        clients = {name: self._client(name) for name in self.scenario.clusters}
        written = {HERE: self._here, THERE: self._there}
        return compare_all(self.scenario, clients, TOPICS, written)

    def _write_on(self) -> None:
        """Write portions until it is time to end; the last one may wait for the broker."""
        seed = 0
        while not self._ending.is_set():
            self._here += self._write(HERE, seed)
            seed += 1
            self._ending.wait(0.5)

    def _write(self, cluster: str, seed: int) -> int:
        write(self._client(cluster), Load(TOPICS, PARTITIONS, _PORTION, seed, cluster))
        return _PORTION

    @property
    def _partitions(self) -> list[TopicPartition]:
        return [TopicPartition(t, number) for t in TOPICS for number in range(PARTITIONS)]

    def _records_at(self, cluster: str, positions: Positions) -> dict[TopicPartition, First]:
        """Return the first record at or behind each position, where there is one."""
        found = {}
        with closing(RecordReader(self._client(cluster), "read_committed")) as reader:
            for where, at in sorted(positions.items()):
                end = reader.bounds(where).end
                for each in reader.read(where, end, at.offset):
                    found[where] = each.key, each.value, each.headers
                    break
        return found

    def _opened(self, kind: Callable[..., Kind]) -> AbstractContextManager[Kind]:
        config = read_config(self.staged.config)
        flow = config.flow(f"{HERE}->{THERE}")
        return opened(kind, flow, config, KafkaClusters(), lambda _: None)
