"""Kafka clusters on this machine: KRaft brokers, each in its own process.

All state of a cluster is in its directory, so any later command finds it again::

    <directory>/<name>/cluster.json              version, cluster id, ports
    <directory>/<name>/broker-<n>/server.properties, server.log, pid.json, data/
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from replication.adapters.local import processes
from replication.adapters.local.broker_config import (
    HOST,
    LOG4J2,
    Node,
    as_properties,
    jvm_options,
    new_cluster_id,
    server_properties,
)
from replication.adapters.local.broker_storage import format_storage, is_formatted
from replication.adapters.local.class_archive import archive_path
from replication.adapters.local.files import make_private, write_whole
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import (
    DEFAULT_VERSION,
    class_path,
    kafka_jars,
    logging_jars,
)
from replication.adapters.local.local_network import brokers_seen, free_ports, require_free
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_LEAST_FREE_BYTES = 128 << 20
_READY_S = 120.0
_GRACE_S = 10.0


@dataclass(slots=True)
class LocalCluster:
    """A cluster of brokers on this machine. ``stop`` keeps its data, ``destroy`` does not."""

    KEPT: ClassVar[tuple[str, ...]] = ("brokers", "version", "heap", "properties", "quick")
    name: str
    directory: Path  # of all clusters; this one lives in <directory>/<name>
    brokers: int = 1
    version: str = DEFAULT_VERSION
    heap: str = "512m"
    properties: Mapping[str, str] = field(default_factory=dict)  # server properties, win over ours
    quick: bool = True  # start soon rather than run fast; False for measurements
    # A second listener for each broker: its port, and the port of the proxy that leads to it.
    fronts: Sequence[tuple[int, int]] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # of its processes; not kept
    _nodes: tuple[Node, ...] = ()
    _id: str = ""

    @classmethod
    def load(cls, name: str, directory: Path) -> Self:
        """Return a cluster that was started before. Raises FileNotFoundError."""
        saved = json.loads((directory / name / "cluster.json").read_text())
        nodes = tuple(Node(**each) for each in saved.pop("nodes"))
        return cls(name, directory, **saved["options"], _nodes=nodes, _id=saved["id"])

    @property
    def home(self) -> Path:
        """Where all of its files are."""
        return self.directory / self.name

    @property
    def bootstrap_servers(self) -> str:
        """Where clients begin; known once it has been started."""
        return ",".join(node.address for node in self._nodes)

    @property
    def admin(self) -> dict[str, str]:
        """Java properties of somebody who may do all."""
        return self.login()

    def login(self) -> dict[str, str]:
        """Return Java properties of Isthmus' user."""
        return {"bootstrap.servers": self.bootstrap_servers}

    def log(self, broker: int) -> Path:
        """Return the log file of a broker (counted from 1)."""
        return self._place(broker) / "server.log"

    def running(self) -> list[int]:
        """Return the brokers whose process is alive."""
        return [node.id for node in self._nodes if self._process(node.id)]

    def start(self) -> None:
        """Start every broker that is not running and wait until all of them answer.

        Raises EnvironmentProblem: no Java, no jars, a port in use, no room on the disk, or a
        broker that does not come up (with the end of its log).
        """
        with self._storage_problems():
            if not self._nodes:
                self._create()
            down = [node for node in self._nodes if not self._process(node.id)]
            for node in down:
                require_free(self.name, node)
            for node in down:
                self._prepare(node)
                self._launch(node)
        self._wait_ready()

    def start_broker(self, broker: int) -> None:
        """Start one broker again and wait until the cluster counts it."""
        node = self._nodes[broker - 1]
        if not self._process(broker):
            require_free(self.name, node)
            with self._storage_problems():
                self._launch(node)
        self._wait_ready()

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """End all brokers, killing those that have not ended after ``grace_s``. Data stays."""
        found = [p for node in self._nodes if (p := self._process(node.id))]
        for process in found:
            process.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        for process in found:
            if not process.wait(max(0.0, deadline - time.monotonic())):
                process.signal(signal.SIGKILL)
                process.wait(grace_s)

    def stop_broker(self, broker: int, grace_s: float = _GRACE_S) -> None:
        """End one broker cleanly."""
        if process := self._process(broker):
            process.stop(grace_s)

    def kill(self, broker: int = 1) -> None:
        """Kill one broker as a power cut would."""
        if process := self._process(broker):
            process.signal(signal.SIGKILL)
            process.wait(_GRACE_S)

    def destroy(self) -> None:
        """Kill all brokers and remove their data."""
        for broker in self.running():
            self.kill(broker)
        shutil.rmtree(self.home, ignore_errors=True)

    def _create(self) -> None:
        make_private(self.home)
        ports = free_ports(2 * self.brokers)
        fronts = self.fronts or ((0, 0),) * self.brokers
        self._nodes = tuple(
            Node(each + 1, ports[2 * each], ports[2 * each + 1], *fronts[each])
            for each in range(self.brokers)
        )
        self._id = new_cluster_id()
        options = {name: getattr(self, name) for name in self.KEPT}
        saved = {"id": self._id, "options": options, "nodes": [asdict(n) for n in self._nodes]}
        write_whole(self.home / "cluster.json", json.dumps(saved, indent=2))

    def _prepare(self, node: Node) -> None:
        """Write the files of a broker that has not been started before."""
        place = self._place(node.id)
        if is_formatted(place / "data"):
            return
        make_private(place)
        values = server_properties(node, self._nodes, place / "data", self._overrides(node))
        (place / "server.properties").write_text(as_properties(values))
        (place / "log4j2.properties").write_text(LOG4J2)
        format_storage(place / "data", node.id, self._id, self.version)

    def _overrides(self, node: Node) -> Mapping[str, str]:
        """Return the server properties that replace ours."""
        return self.properties

    def _system_properties(self) -> Mapping[str, str]:
        """Return system properties of the brokers' JVMs."""
        return {}

    def _seen_by(self, node: Node) -> set[int]:
        """Return the brokers that this one lists; none while it does not answer."""
        return brokers_seen((HOST, node.port), {"bootstrap.servers": node.address})

    def _launch(self, node: Node) -> None:
        process = processes.spawn(self._command(node), self.log(node.id), self.environment)
        processes.remember(process, self._place(node.id) / "pid.json")

    def _command(self, node: Node) -> list[str]:
        place = self._place(node.id)
        return [
            str(java()),
            *jvm_options(self.heap, quick=self.quick, archive=broker_archive(self.version)),
            f"-Djava.io.tmpdir={place}",  # codecs unpack their libraries there
            f"-Dlog4j2.configurationFile={place}/log4j2.properties",
            *(f"-D{key}={value}" for key, value in self._system_properties().items()),
            *("-cp", class_path(self.version)),
            *("kafka.Kafka", str(place / "server.properties")),
        ]

    def _wait_ready(self) -> None:
        """Wait until the metadata of each running broker lists all running brokers."""
        deadline = time.monotonic() + _READY_S
        waiting = [node for node in self._nodes if self._process(node.id)]
        expected = {node.id for node in waiting}
        while waiting:
            if dead := [node for node in self._nodes if node.id in expected - {*self.running()}]:
                raise self._did_not_start(dead[0], "its process ended")
            if time.monotonic() > deadline:
                raise self._did_not_start(waiting[0], f"no answer within {_READY_S:.0f} s")
            waiting = [node for node in waiting if not expected <= self._seen_by(node)]
            time.sleep(0.1 if waiting else 0)

    def _did_not_start(self, node: Node, why: str) -> EnvironmentProblem:
        for broker in self.running():
            self.kill(broker)
        log = self.log(node.id)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        messages = [line for line in lines if not line.startswith("\tat ")]  # no stack frames
        tail = "".join(f"\n  {line}" for line in messages[-8:])
        return EnvironmentProblem(
            f"starting broker {node.id} of cluster {self.name} at {node.address}: {why}; "
            f"the end of {log}:{tail}"
        )

    def _place(self, broker: int) -> Path:
        return self.home / f"broker-{broker}"

    def _process(self, broker: int) -> processes.Process | None:
        return processes.recall(self._place(broker) / "pid.json")

    @contextlib.contextmanager
    def _storage_problems(self) -> Iterator[None]:
        """Turn a directory that cannot be written into one sentence."""
        where = f"storing cluster {self.name} in {self.home}"
        advice = "free space there or choose another directory"
        try:
            make_private(self.home)
            if (free := shutil.disk_usage(self.home).free) < _LEAST_FREE_BYTES:
                raise EnvironmentProblem(
                    f"{where}: only {free >> 20} MB free, {_LEAST_FREE_BYTES >> 20} MB needed; "
                    f"{advice}"
                )
            yield
        except OSError as error:
            raise EnvironmentProblem(f"{where}: {error.strerror}; {advice}") from error


def broker_archive(version: str) -> Path | None:
    """Return where the classes of a broker are that are ready to be used; None: nowhere."""
    jars = [*logging_jars(), *sorted(kafka_jars(version).glob("*.jar"))]
    return archive_path(f"kafka-{version}", jars)
