"""Dagster's real services under their keeper: they come up, come back, and go."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import psutil
import pytest
from support.security.attack_surface import listens, open_to_others, reachable_ports, tree

from orchestration.services.keeper import (
    NAMES,
    Ports,
    _pid_file,
    running_keeper,
    start_keeper,
    stop_services,
)
from orchestration.services.local_ports import answers
from orchestration.services.state_directory import StateDirectory, prepare
from replication.adapters.local.local_network import free_ports
from replication.adapters.local.processes import Process, recall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

CONFIG = """
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
A->B.topics = orders
"""
SENSORS = """{ sensorsOrError(repositorySelector: {
    repositoryName: "__repository__", repositoryLocationName: "isthmus"
  }) { ... on Sensors { results { name sensorState { status } } } } }"""
REASON = """{ sensorOrError(sensorSelector: {
    repositoryName: "__repository__", repositoryLocationName: "isthmus", sensorName: "SENSOR"
  }) { ... on Sensor { sensorState { ticks(limit: 1) { status skipReason } } } } }"""
ASSETS = "{ assetNodes { assetKey { path } } }"


class Dagster:
    """A running set of services."""

    def __init__(self, root: Path) -> None:
        self.home = StateDirectory(root / "home")
        self.config = root / "flows.properties"
        self.config.write_text(CONFIG)
        self.ports = Ports(*free_ports(2))

    def start(self) -> None:
        prepare(self.home)
        start_keeper(self.home, self.config, self.ports)

    def service(self, name: str) -> Process | None:
        return recall(_pid_file(self.home, name))

    def ask(self, query: str) -> dict:
        """Return the answer of the UI's API; empty while it does not answer."""
        body = json.dumps({"query": query}).encode()
        url = f"http://127.0.0.1:{self.ports.web}/graphql"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
                return json.load(answer).get("data") or {}
        except (OSError, urllib.error.URLError):
            return {}

    def running_sensors(self) -> set[str]:
        found = self.ask(SENSORS).get("sensorsOrError") or {}
        return {
            each["name"]
            for each in found.get("results", [])
            if each["sensorState"]["status"] == "RUNNING"
        }

    def last_tick(self, sensor: str) -> dict:
        found = self.ask(REASON.replace("SENSOR", sensor)).get("sensorOrError") or {}
        ticks = found.get("sensorState", {}).get("ticks", [])
        return ticks[0] if ticks else {}

    def last_reason(self, sensor: str = "supervisor") -> str:
        return self.last_tick(sensor).get("skipReason") or ""

    def has_asset(self, *path: str) -> bool:
        nodes = self.ask(ASSETS).get("assetNodes") or []
        return list(path) in [each["assetKey"]["path"] for each in nodes]

    def processes(self) -> list[psutil.Process]:
        """Return every process that speaks of this state directory or of these ports."""
        marks = re.compile(
            rf"{re.escape(str(self.home.root))}|\b({self.ports.code}|{self.ports.web})\b"
        )
        found = []
        for each in psutil.process_iter(["cmdline"]):
            line = " ".join(each.info["cmdline"] or [])
            if each.pid != os.getpid() and marks.search(line):
                found.append(each)
        return found


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    found = Dagster(tmp_path_factory.mktemp("dagster"))
    with pytest.MonkeyPatch.context() as environment:
        # BL-239: the network's proxy, as gRPC knows it, must not be asked for our own services.
        environment.setenv("grpc_proxy", "http://127.0.0.1:9")
        found.start()
    yield found
    stop_services(found.home)


def until(happens: Callable[[], object], limit_s: float = 240) -> float:
    """Wait, and return how long it took."""
    since = time.monotonic()
    while not happens():
        assert time.monotonic() - since < limit_s, f"not within {limit_s} s"
        time.sleep(0.3)
    return time.monotonic() - since


def all_sensors_run(dagster: Dagster) -> bool:
    return dagster.running_sensors() == {
        "supervisor",
        "alert_on_checks",
        "observe_clusters",
    }


def edits_are_followed(dagster: Dagster) -> None:
    """Break the file, then mend it with one more flow: ticks go on, and definitions follow."""
    dagster.config.write_text(f"{CONFIG}lag.sla.secnds = 5\n")
    until(lambda: "the configuration file is BROKEN_FILE" in dagster.last_reason("alert_on_checks"))
    ticks: list[dict] = []
    until(lambda: ticks.append(dagster.last_tick("supervisor")) or ticks[-1])
    assert ticks[-1]["status"] != "FAILURE"
    code = dagster.service("code")
    dagster.config.write_text(f"{CONFIG}B->A.enabled = true\n")
    until(lambda: dagster.has_asset("replication", "B_to_A", "stream"))
    assert dagster.service("code") != code
    until(lambda: "application A: " in dagster.last_reason())


def test_they_come_up_come_back_after_kill_9_and_leave_nothing(dagster):
    """BL-130."""
    until(lambda: all_sensors_run(dagster))
    until(lambda: "target cluster B did not answer" in dagster.last_reason())
    edits_are_followed(dagster)

    processes = tree(running_keeper(dagster.home).pid)
    assert listens(processes)
    assert reachable_ports(processes) == []
    assert open_to_others(dagster.home.root) == []

    before = {name: dagster.service(name) for name in NAMES}
    for process in before.values():
        process.signal(signal.SIGKILL)
    until(lambda: all(dagster.service(name) not in {None, before[name]} for name in NAMES))
    until(lambda: all_sensors_run(dagster))

    running_keeper(dagster.home).signal(signal.SIGKILL)
    orphans = {name: dagster.service(name) for name in NAMES}
    assert all(orphans.values()), "a killed keeper must leave the services running"
    stop_services(dagster.home)
    until(lambda: not dagster.processes())
    assert not answers(dagster.ports.web)
