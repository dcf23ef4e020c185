"""Run units of the copier against real clusters: in this process, or in one that can be killed."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.threads import working
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_store import StateStore
from replication.adapters.wire import connect
from replication.copier.host import Host
from replication.copier.spec import UnitReport, UnitSpec
from replication.errors import ClusterUnavailable
from replication.model import PartitionPlan, PartitionState, TopicPartition
from replication.state import Anchor, Control, Stored, anchors_topic, status_topic
from support.copier.unit_specs import changed
from support.flows.state_reader import StateReader
from support.records import kafka_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from replication.adapters.local.local_kafka import LocalCluster
    from replication.copier.unit import Unit

WAIT_S = 180.0  # generous: beside thirty busy processes a unit's process needs 90 s to begin
_LATE_S = 40.0  # an epoch in which a unit starts on every machine, if it ever does
_LONG_S = 900.0  # an epoch that tests end: brokers restart in it, on a busy machine too
_MOMENT_S = 0.3  # for what a unit does although a partition has settled
_NOT_STARTED = "did not answer before the epoch ended"


@dataclass
class Flow:
    """A flow under a source alias of its own, so that its state topics are its own too."""

    source: LocalCluster
    target: LocalCluster
    topics: dict[str, int]  # name -> partitions
    alias: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:8]}")
    replicas: int = 1
    fed: Counter[TopicPartition] = field(default_factory=Counter)  # records acked by the source

    def __post_init__(self) -> None:
        self.admin = KafkaAdmin({"bootstrap.servers": self.here})
        soon = {"reconnect.backoff.max.ms": 500}  # tests stop brokers
        self.store = StateStore({"bootstrap.servers": self.to, **soon}, self.replicas)
        self.store.ensure_topics(self.alias)

    @property
    def name(self) -> str:
        return f"{self.alias}->B"

    @property
    def here(self) -> str:
        return self.source.bootstrap_servers

    @property
    def to(self) -> str:
        return self.target.bootstrap_servers

    @property
    def partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(name, n) for name, count in self.topics.items() for n in range(count)
        ]

    def spec(self, generation: int = 1, epoch: int = 0, **more: object) -> UnitSpec:
        """Return the spec of one unit with all partitions; ``more`` replaces fields of it."""
        whole = UnitSpec(
            flow=self.name,
            source_alias=self.alias,
            target_alias="B",
            unit=0,
            generation=generation,
            epoch=epoch,
            partitions=tuple(PartitionPlan(each, each) for each in self.partitions),
            source={"bootstrap.servers": self.here},
            target={"bootstrap.servers": self.to},
        )
        return changed(whole, **{"epoch_s": _LONG_S, "anchor_every_s": 0.1, **more})

    def anchors(self) -> dict[TopicPartition, Anchor]:
        """Return the newest anchor of each partition."""
        return _anchors(self.store.read(anchors_topic(self.alias)).values())

    def wait_copied(self, partitions: list[TopicPartition] | None = None) -> None:
        """Wait until the anchors say that all of the source is on the target."""
        expected = partitions or self.partitions
        self.wait_for(lambda anchors: self._all_copied(anchors, expected), "all copied")

    def wait_moved(self, records: int) -> None:
        """Wait until at least ``records`` more were copied."""
        now = self.wait_for(lambda _: True, "the anchors can be read")
        before = sum(each.records for each in now.values())
        self.wait_for(
            lambda anchors: sum(each.records for each in anchors.values()) >= before + records,
            f"{records} more records are copied",
        )

    def wait_for(self, holds, what: str) -> dict[TopicPartition, Anchor]:
        """Wait until ``holds(anchors)``, and return them."""
        deadline, anchors = time.monotonic() + WAIT_S, {}
        with contextlib.closing(StateReader(self.store, anchors_topic(self.alias))) as reader:
            while time.monotonic() < deadline:
                with contextlib.suppress(ClusterUnavailable):  # a broker is on its way back
                    if holds(anchors := _anchors(reader.read().values())):
                        return anchors
                time.sleep(0.1)
        raise AssertionError(f"waited in vain until {what}: {anchors}")

    def _all_copied(self, anchors: dict[TopicPartition, Anchor], expected) -> bool:
        end_offsets = self.admin.end_offsets(expected)
        return all(  # a partition without a leader, or with one that lags, has no known end
            each in anchors
            and each in end_offsets
            and (anchors[each].source or 0) >= max(end_offsets[each], self.fed[each])
            for each in expected
        )

    def end(self, spec: UnitSpec) -> None:
        """Tell units that the epoch of ``spec`` is over."""
        control = Control(self.name, spec.generation, spec.epoch)
        self.store.write(status_topic(self.alias), control)

    @contextmanager
    def copying(
        self, spec: UnitSpec, connect=connect, host: Host | None = None
    ) -> Iterator[list[UnitReport]]:
        """Copy in a thread while the block runs; the report is in the list afterwards."""
        reports: list[UnitReport] = []
        thread = _thread(lambda: reports.append(copy(spec, connect, host)))
        try:
            yield reports
        finally:
            self.end(spec)
            thread.join(WAIT_S)
        assert reports, "the unit did not end"

    def settle(self, spec: UnitSpec) -> UnitReport:
        """Copy until each partition has halted or has all of its source, and a moment longer."""
        host, reports = Host(), []
        thread = _thread(lambda: reports.append(host.copy(spec, connect)))
        try:
            deadline = time.monotonic() + WAIT_S
            while thread.is_alive() and not self._is_settled(host, spec):
                assert time.monotonic() < deadline, "waited in vain until all have settled"
                time.sleep(0.05)
            time.sleep(_MOMENT_S)
            self.end(spec)
            thread.join(WAIT_S)
        finally:
            host.close()
        return reports[0]

    def _is_settled(self, host: Host, spec: UnitSpec) -> bool:
        """Say so of halted partitions, not of those that are tried again: ``stuck`` until it works.

        A partition whose end is not known has not settled.
        """
        partitions = [each for unit in _units(host, spec) for each in unit.partitions]
        end_offsets = self.admin.end_offsets([each.source for each in partitions])
        return len(partitions) == len(spec.partitions) and all(
            each.state not in {PartitionState.RUNNING, PartitionState.WAITING}
            or (
                each.acked is not None
                and each.source in end_offsets
                and each.acked.source >= end_offsets[each.source]
            )
            for each in partitions
        )

    def epoch(self, host: Host, spec: UnitSpec, records: int) -> UnitReport:
        """Let ``host`` copy an epoch that ends as soon as it has begun and ``records`` moved."""
        reports: list[UnitReport] = []
        thread = _thread(lambda: reports.append(host.copy(spec, connect)))
        try:
            deadline = time.monotonic() + WAIT_S
            while thread.is_alive() and not _has_begun(host, spec):
                assert time.monotonic() < deadline, "waited in vain until the epoch has begun"
                time.sleep(0.02)
            if thread.is_alive():
                self.wait_moved(records)
        finally:
            self.end(spec)
            thread.join(WAIT_S)
        assert reports, "the epoch did not end"
        return reports[0]

    def run_out(self, host: Host, spec: UnitSpec) -> None:
        """Let the time of the epoch be over now: no cluster has to pass on a word for that."""
        for each in _units(host, spec):
            timer = each.epoch_timer
            host._loop.call_soon_threadsafe(timer._after, 0.0, timer.end_epoch)

    def copy_all(self, generation: int = 1, epoch: int = 0, **more: object) -> UnitReport:
        """Copy all that is there, in an epoch that ends as soon as it is done."""
        spec = self.spec(generation, epoch, **more)
        with self.copying(spec) as reports:
            self.wait_copied([each.source for each in spec.partitions])
        return reports[0]

    def assert_equal(self, isolation: str = "read_committed") -> None:
        """Compare all topics: content and order by partition, also for those who read dirty."""
        for topic in self.topics:
            expected = kafka_records.consume_all(self.here, topic, isolation)
            found = kafka_records.consume_all(self.to, topic)
            ours, theirs = [e.content for e in found], [e.content for e in expected]
            pairs = enumerate(zip(ours, theirs, strict=False))
            same = next((n for n, (one, other) in pairs if one != other), len(ours))
            output = f"{topic}: {len(ours)} of {len(theirs)}, different after {same}"
            assert ours == theirs, output


def _thread(work: Callable[[], object]) -> threading.Thread:
    """Start a thread that does not keep the process when a test gives it up."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _units(host: Host, spec: UnitSpec) -> list[Unit]:
    groups = host._unit_groups.get((spec.flow, spec.unit))
    return [each.unit for each in groups._groups if each.unit] if groups else []


def _has_begun(host: Host, spec: UnitSpec) -> bool:
    """Say whether the units copy in this epoch: they have started, or gone on from a former one."""
    units = _units(host, spec)
    return bool(units) and all(
        each.started.is_set() and each.epoch_timer.spec.epoch == spec.epoch for each in units
    )


def _anchors(records: Iterable[Stored]) -> dict[TopicPartition, Anchor]:
    anchors = (each for each in records if isinstance(each, Anchor))
    return {TopicPartition(each.topic, each.partition): each for each in anchors}


@contextmanager
def feeding(flow: Flow, per_second: int = 1000, config=None) -> Iterator[None]:
    """Produce to all partitions of the flow's topics while the block runs."""
    over = threading.Event()

    def feed() -> None:
        for turn in itertools.count():
            for topic, partitions in flow.topics.items():
                records = kafka_records.some_records(per_second // 5, partitions, seed=turn)
                kafka_records.produce(flow.here, topic, records, config)
                flow.fed.update(TopicPartition(topic, each[0]) for each in records)
            if over.wait(0.2):
                return

    with working(over, feed):
        yield


def copy(spec: UnitSpec, connect=connect, host: Host | None = None) -> UnitReport:
    """Run one unit for one epoch with connections of its own; afterwards ``host`` is closed."""
    host = host or Host()
    try:
        return host.copy(spec, connect)
    finally:
        host.close()


def copy_by_time(spec: UnitSpec) -> UnitReport:
    """Run an epoch that ends by its time; a longer one where it was over before all had started."""
    report = copy(spec)
    while _NOT_STARTED in report.outcome and spec.epoch_s < _LATE_S:
        spec = changed(spec, epoch_s=2 * spec.epoch_s)
        report = copy(spec)
    return report


class UnitProcess(subprocess.Popen[bytes]):
    """A process that copies; one that a failed test leaves does not make a later test fail too."""

    def __del__(self) -> None:
        if self.returncode is None:
            self.kill()
            self.communicate()
        super().__del__()


def start_unit(spec: UnitSpec, directory: Path) -> subprocess.Popen[bytes]:
    """Run one unit in a process of its own; its report goes to stdout, pickled."""
    file = directory / f"{uuid.uuid4().hex}.spec"
    file.write_bytes(pickle.dumps(spec))
    here = Path(__file__).parents[2]
    return UnitProcess(
        [sys.executable, "-P", __file__, str(file)],  # -P: tests/replication is not the package
        env={**os.environ, "PYTHONPATH": f"{here.parent}:{here}"},
        stdout=subprocess.PIPE,
    )


def linger(flow: Flow, spec: UnitSpec, directory: Path) -> subprocess.Popen[bytes]:
    """Run an epoch in a process of its own; return when it is over and the unit copies on."""
    file = directory / f"{uuid.uuid4().hex}.spec"
    file.write_bytes(pickle.dumps(spec))
    process = UnitProcess(
        [sys.executable, "-c", _LINGERING, str(file)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        flow.wait_moved(1)
        flow.end(spec)
        assert process.stdout.readline() == b"1\n"
    except BaseException:
        kill(process)
        raise
    return process


_LINGERING = """
import pickle, sys, time
from pathlib import Path
from replication.adapters.wire import connect
from replication.copier.host import copy_epoch
print(copy_epoch(pickle.loads(Path(sys.argv[1]).read_bytes()), connect).in_grace, flush=True)
time.sleep(600)
"""


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a unit's process as a power cut would."""
    process.kill()
    process.communicate(timeout=WAIT_S)


def report_of(process: subprocess.Popen[bytes]) -> UnitReport:
    """Wait for a unit's process and return what it reported."""
    try:
        output, _ = process.communicate(timeout=WAIT_S)
    finally:
        kill(process)
    return pickle.loads(output)  # noqa: S301 -- our own process wrote it


if __name__ == "__main__":
    report = copy(pickle.loads(Path(sys.argv[1]).read_bytes()))  # noqa: S301 -- ours as well
    sys.stdout.buffer.write(pickle.dumps(report))
