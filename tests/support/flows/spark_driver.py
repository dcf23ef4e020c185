"""A Spark driver in its own process, between two real clusters."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from replication.adapters.topics.state_store import StateStore
from replication.state import Anchor, FlowStatus, Intent, InventoryPart, anchors_topic, status_topic
from support.flows.state_reader import StateReader
from support.network.prometheus import Scrape, scrape
from support.records import kafka_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from replication.adapters.local.local_kafka import LocalCluster
    from replication.model import Desired
    from replication.state import Stored

REPOSITORY = Path(__file__).parents[3]
Found = TypeVar("Found")


_logs: dict[subprocess.Popen[bytes], Path] = {}  # of the drivers that tests have started
_in_vain: set[subprocess.Popen[bytes]] = set()  # those beside which a test has waited in vain


def wait_for(found: Callable[[], Found], limit_s: float = 180) -> Found:
    """Wait until ``found`` gives something; fail at once if a driver has ended meanwhile."""
    deadline = time.monotonic() + _at_most(limit_s)
    while not (answer := found()):
        no_driver_has_ended()
        if time.monotonic() > deadline:
            _in_vain.update(_logs)
            raise AssertionError("it did not happen in time")
        time.sleep(0.1)
    return answer


def _at_most(limit_s: float) -> float:
    """Return how long to wait: less beside a driver that may not do anything any more."""
    return limit_s if _in_vain.isdisjoint(_logs) else min(limit_s, 45.0)


def no_driver_has_ended() -> None:
    """Fail, with its log, if a driver has ended whose end no test has awaited."""
    for driver, log in tuple(_logs.items()):
        if driver.returncode is not None:
            continue  # somebody waited for its end
        # It is left to be waited for, so that the next wait fails as this one does.
        ended = os.waitid(os.P_PID, driver.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            show(log)
            raise AssertionError(f"a driver has ended by itself, with {ended.si_status}: {log}")


def show(log: Path, lines: int = 80) -> None:
    """Print the end of a driver's log, which pytest shows where a test has failed."""
    if log.exists():
        ended = log.read_text(errors="replace").splitlines()[-lines:]
        sys.stdout.write("\n".join([f"--- {log.name}", *ended, ""]))


@contextmanager
def killable_driver(config: Path, target: str, home: Path) -> Iterator[Callable[[], None]]:
    """Drive the flows into ``target`` in the block; gives what kills all processes of the driver.

    They are dead after the block at the latest.
    """
    home.mkdir(parents=True, exist_ok=True)
    where = ["--config", str(config), "--target", target, "--state-dir", str(home)]
    with (home / "driver.log").open("ab") as log:
        driver = subprocess.Popen(
            [sys.executable, "-m", "spark_jobs.replicate", *where],
            cwd=REPOSITORY,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def kill() -> None:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait(120)

    try:
        yield kill
    finally:
        kill()
        show(home / "driver.log")


@dataclass
class Application:
    """A configuration of its own names, and the drivers started for it."""

    source: LocalCluster
    target: LocalCluster
    home: Path
    more: str = ""
    logins: tuple[Mapping[str, str], ...] = ()  # Java properties for source and target
    alias: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:6]}")
    drivers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.store = StateStore({"bootstrap.servers": self.target.bootstrap_servers}, 1)
        self._readers: dict[str, tuple[kafka_records.Reader, kafka_records.Reader]] = {}
        self._states: dict[str, StateReader] = {}
        self.config.write_text(
            f"clusters = {self.alias}, B\n"
            + "".join(
                f"{name}.{key} = {value}\n"
                for name, properties in zip((self.alias, "B"), self._logins(), strict=True)
                for key, value in properties.items()
            )
            + f"{self.flow}.enabled = true\n"
            f"{self.flow}.topics = {self.alias}-.*\n"
            "tasks.max = 2\nreplication.factor = 1\n" + self.more.replace("SOURCE", self.alias)
        )

    def _logins(self) -> Iterable[Mapping[str, str]]:
        return self.logins or ({"bootstrap.servers": each} for each in self.both)

    @property
    def config(self) -> Path:
        return self.home / "isthmus.properties"

    @property
    def flow(self) -> str:
        return f"{self.alias}->B"

    @property
    def both(self) -> tuple[str, str]:
        """Addresses of source and target."""
        return self.source.bootstrap_servers, self.target.bootstrap_servers

    def start(self, state: str = "state", module: str = "replicate") -> subprocess.Popen[bytes]:
        options = ["--config", str(self.config), "--target", "B"]
        command = [sys.executable, "-m", f"spark_jobs.{module}", *options]
        with (self.home / f"{state}.log").open("ab") as log:
            driver = subprocess.Popen(
                [*command, "--state-dir", str(self.home / state)],
                cwd=REPOSITORY,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.drivers.append(driver)
        _logs[driver] = self.home / f"{state}.log"
        return driver

    def log(self, state: str = "state") -> str:
        return (self.home / f"{state}.log").read_text()

    def scrape(self) -> Scrape:
        """Return what the driver's metrics say, if it serves any."""
        return scrape(re.findall(r"metrics endpoint started +address=(\S+)", self.log())[-1])

    def await_scrape(self, check: Callable[[Scrape], None]) -> None:
        """Scrape until one scrape has all that ``check`` asserts; else its last word is raised.

        A figure that is not known yet is None, and a busy driver may not answer in time.
        """
        deadline = time.monotonic() + _at_most(180)
        while True:
            try:
                check(self.scrape())
            except (AssertionError, OSError, TypeError):
                no_driver_has_ended()
                if time.monotonic() > deadline:
                    _in_vain.update(_logs)
                    raise
                time.sleep(0.2)
            else:
                return

    def state(self, topic: str) -> dict[bytes, Stored]:
        """Return the newest record of every key of a state topic on the target."""
        if topic not in self._states:
            self._states[topic] = StateReader(self.store, topic)
        return self._states[topic].read()

    def status(self, flow: str = "") -> FlowStatus:
        name = flow or self.flow
        found = self.state(status_topic(name.partition("->")[0]))
        status = found.get(FlowStatus(name).key())
        return status if isinstance(status, FlowStatus) else FlowStatus(name)

    def knows_its_source(self) -> bool:
        """Say whether the flow's driver takes topics that come from now on for created later."""
        found = self.state(status_topic(self.alias)).get(InventoryPart(self.flow, 0).key())
        return isinstance(found, InventoryPart) and found.parts is not None

    def await_state(self, state: str, flow: str = "") -> FlowStatus:
        wait_for(lambda: self.status(flow).state == state)
        return self.status(flow)

    def ask(self, desired: Desired) -> None:
        self.store.write(status_topic(self.alias), Intent(self.flow, desired, "a test"))

    def producers(self, topic: str) -> dict[int, tuple[int, bool]]:
        """Return the producer epoch that claims each partition, and whether it has ended."""
        anchors = self.state(anchors_topic(self.alias)).values()
        return {
            each.partition: (each.epoch, each.clean)
            for each in anchors
            if isinstance(each, Anchor) and each.topic == topic
        }

    def topic(self, stem: str = "orders", partitions: int = 2) -> str:
        name = f"{self.alias}-{stem}-{uuid.uuid4().hex[:6]}"
        return kafka_records.create_topic(self.source.bootstrap_servers, name, partitions)

    def produce(self, topic: str, count: int, seed: int = 1) -> None:
        records = kafka_records.some_records(count, 2, seed)
        kafka_records.produce(self.source.bootstrap_servers, topic, records)

    def is_copied(self, topic: str) -> bool:
        """Say whether the copy has all records, and no other ones."""
        ours, theirs = (each.read() for each in self._readers_of(topic))
        if len(theirs) > len(ours):  # a transaction that was aborted stands there too
            copy = f"{self.alias}.{topic}"
            theirs = kafka_records.consume_all(self.both[1], copy, "read_committed")
        assert len(theirs) <= len(ours), "records were repeated"
        return [each.content for each in ours] == [each.content for each in theirs]

    def _readers_of(self, topic: str) -> tuple[kafka_records.Reader, kafka_records.Reader]:
        """Return what reads a topic and its copy."""
        if topic not in self._readers:
            here, there = self.both
            copy = f"{self.alias}.{topic}"
            self._readers[topic] = (
                kafka_records.Reader(here, topic),
                kafka_records.Reader(there, copy),
            )
        return self._readers[topic]

    def close(self) -> None:
        for each in self.drivers:
            if each.poll() is None:
                each.terminate()
                try:
                    each.wait(20)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()
            _logs.pop(each, None)
        for log in sorted(self.home.glob("*.log")):
            show(log)
        for each in self._states.values():
            each.close()
        self.store.close()
