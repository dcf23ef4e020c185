"""A driver beats while it waits for Spark; a start that does not end is given up, and says why."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from structlog.testing import capture_logs

from replication.errors import EnvironmentProblem, FlowTaken
from spark_jobs.driver import class_dump, driver_heartbeats
from spark_jobs.driver.driver_heartbeats import StartHeartbeats


class Lease:
    """Notes what is beaten; ``taken``: another driver has the flow. ``beats`` are waited for."""

    def __init__(self, *, taken: bool = False) -> None:
        self.output: list[tuple[str, str]] = []
        self.status = SimpleNamespace(state="RUNNING", reason="4 gaps")
        self.beats = threading.Semaphore(0)
        self.polled = threading.Event()
        self.closed = False
        self._taken = taken

    def poll(self) -> None:
        self.polled.set()
        if self._taken:
            raise FlowTaken("A->B is copied by another driver")

    def beat(self, state: str, reason: str) -> None:
        self.output.append((state, reason))
        self.status = SimpleNamespace(state=state, reason=reason)
        self.beats.release()

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def often(monkeypatch) -> None:
    monkeypatch.setattr(driver_heartbeats, "BEAT_S", 0.002)


def test_each_flow_of_a_driver_beats_until_spark_has_started():
    leases = [Lease(), Lease()]
    with StartHeartbeats(leases, pytest.fail):
        for each in [*leases, *leases, *leases]:
            assert each.beats.acquire(timeout=10)
    assert {output for each in leases for output in each.output} == {("STARTING", "starting Spark")}
    assert not any(each.closed for each in leases), "the driver's loop beats on"


def test_a_driver_that_lost_a_flow_meanwhile_ends():
    lease = Lease(taken=True)
    with pytest.raises(FlowTaken, match="another driver"), StartHeartbeats([lease], pytest.fail):
        assert lease.polled.wait(10)


def test_why_the_start_failed_is_what_counts():
    lease = Lease(taken=True)

    def start() -> None:
        assert lease.polled.wait(10)
        raise EnvironmentProblem("starting Java for Spark: it exited")

    with pytest.raises(EnvironmentProblem), StartHeartbeats([lease], pytest.fail):
        start()


def test_a_start_that_does_not_end_is_given_up_and_the_status_says_why():
    lease, given_up = Lease(), threading.Event()
    reasons: list[str] = []

    def give_up(reason: str) -> None:
        reasons.append(reason)
        given_up.set()

    with StartHeartbeats([lease], give_up, limit_s=0.01):
        assert given_up.wait(10)
    assert lease.output[-1] == ("FAILED", *reasons)
    assert reasons[0].startswith("Spark did not start within 0 s: check spark.master")
    assert lease.closed, "what is queued was sent"


@pytest.mark.parametrize(
    ("error", "logged"),
    [(None, []), (Py4JError("no space"), ["no space"]), (OSError("full"), ["full"])],
    ids=["written", "refused by the JVM", "no directory"],
)
def test_while_the_jvm_stops_for_its_class_archive_the_flow_stays_what_it_is(
    monkeypatch, error, logged
):
    lease = Lease()
    spark = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=None))

    def dump(_gateway: object, _archive: Path) -> None:
        assert lease.beats.acquire(timeout=10)
        if error is not None:
            raise error

    monkeypatch.setattr(class_dump, "dump_archive", dump)
    with capture_logs() as logs:
        class_dump.dump(spark, Path("x"), [lease])
    assert set(lease.output) == {("RUNNING", "4 gaps")}
    assert [each["reason"] for each in logs] == logged


def test_the_class_archive_is_written_once_when_all_flows_have_copied_for_a_while(monkeypatch):
    dumped, archive = [], Path("classes.jsa")
    monkeypatch.setattr(
        class_dump, "dump", lambda _spark, path, leases: dumped.append((path, leases))
    )
    copies, jvm = {"one": 9.0, "two": 7.0}, SimpleNamespace(archive=archive)
    flows = [
        SimpleNamespace(
            lease=name,
            cycle=SimpleNamespace(copies_since=lambda s, name=name: copies[name] >= s),
        )
        for name in copies
    ]
    class_dump.dump_when_loaded(jvm, None, flows)
    assert (dumped, jvm.archive) == ([], archive)
    copies["two"] = 8.0
    for _ in range(2):
        class_dump.dump_when_loaded(jvm, None, flows)
    assert dumped == [(archive, ["one", "two"])]
