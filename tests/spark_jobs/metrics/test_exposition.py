"""The metrics endpoint of a driver: when it listens, failures that it logs, what it serves."""

from __future__ import annotations

import os
import socket
import threading
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from support.network.prometheus import scrape

from replication.settings.metrics_settings import MetricsSettings
from replication.state import FlowStatus
from replication.supervision.flow_figures import FlowCounters, FlowFigures, FlowReading
from spark_jobs.metrics.exposition import Exposition

FIGURES = FlowFigures(
    "A", "B", FlowStatus("A->B", generation=3), should_copy=True, arrives=True,
    tally=FlowCounters(2), tasks=(), plan=(), copied=FlowReading(1),
)  # fmt: skip


def exposition(port: int | None, host: str = "127.0.0.1") -> Exposition:
    driver = "B", "here", "7", "local[2]"
    return Exposition(MetricsSettings(host=host), port, lambda: [FIGURES], driver, os.getpid())


def serve(made: Exposition) -> None:
    """Let it try, and wait until it has."""
    made.serve()
    for each in threading.enumerate():
        if each.name == "metrics endpoint":
            each.join(20)
            assert not each.is_alive()


@pytest.fixture
def clock(monkeypatch):
    moment = [1000.0]
    monkeypatch.setattr(
        "spark_jobs.metrics.exposition.time", SimpleNamespace(monotonic=lambda: moment[0])
    )
    return moment


def test_it_serves_what_is_the_case_when_it_is_asked(clock):
    made = exposition(0)
    with capture_logs() as logs:
        for _ in range(2):
            serve(made)
            clock[0] += 60
    address = f"http://127.0.0.1:{made.port}/metrics"
    assert [each["address"] for each in logs] == [address]
    found = scrape(address)
    assert found.of("isthmus_flow_generation", source="A", target="B") == 3
    assert found.of("isthmus_query_starts_total", source="A", target="B") == 2
    assert found.of("isthmus_replication_latency_seconds_count", source="A", target="B") is None
    assert found.of("isthmus_driver_info", application="B", spark_master="local[2]") == 1
    assert found.of("process_resident_memory_bytes") == pytest.approx(
        found.of("isthmus_jvm_process_resident_memory_bytes"), rel=0.5
    )


def test_without_a_port_nobody_listens():
    made = exposition(None)
    serve(made)
    assert made.port is None


def test_a_port_that_is_taken_is_reported_once_and_tried_again(clock):
    with socket.create_server(("127.0.0.1", 0)) as taken, capture_logs() as logs:
        port = taken.getsockname()[1]
        made = exposition(port)
        for _ in range(2):
            serve(made)
            clock[0] += 31
        serve(made)
    (log,) = logs
    assert log["log_level"] == "warning"
    assert log["reason"] == (
        f"127.0.0.1:{port}: Address already in use; "
        "free it, or choose another metrics.port or metrics.host"
    )
    serve(made)
    assert made.port is None, "it is too soon"
    clock[0] += 31
    serve(made)
    assert made.port == port


@pytest.mark.parametrize(
    ("port", "host", "reason"),
    [
        pytest.param(0, "192.0.2.1", "192.0.2.1:0: Cannot assign requested address", id="host"),
        pytest.param(1 << 16, "127.0.0.1", "127.0.0.1:65536: ", id="port"),
    ],
)
def test_what_cannot_be_listened_on_holds_nothing_up(port, host, reason):
    with capture_logs() as logs:
        made = exposition(port, host)
        serve(made)
    assert logs[0]["reason"].startswith(reason)
    assert made.port is None


def test_a_resolver_that_is_silent_holds_no_driver_up(clock, monkeypatch):
    asked, may, look_up = [], threading.Event(), socket.getaddrinfo

    def silent(*about, **more):
        asked.append(about)
        assert may.wait(10)
        return look_up(*about, **more)

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    made = exposition(0)
    for _ in range(3):
        made.serve()
        clock[0] += 31
        assert made.port is None
    may.set()
    serve(made)
    assert made.port is not None
    assert len(asked) == 1, "one attempt is open, no more"
