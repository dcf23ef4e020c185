"""A driver whose state directory has no space left."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from support.fakes.full_disk import Disk
from support.settings.configs import a_config, a_flow

from spark_jobs import replicate
from spark_jobs.driver.flow.query_cycle import QueryCycle
from spark_jobs.planning.topic_watcher import TopicWatcher
from spark_jobs.process.appdir import AppDir, FlowDir, read_json
from spark_jobs.process.jvm import DIED


@pytest.fixture
def disk(tmp_path, monkeypatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


@pytest.fixture
def flow(tmp_path) -> QueryCycle:
    """Return the queries of a flow that can start: each start appends to ``flow.starts``."""
    directory = FlowDir(tmp_path / "flow")
    directory.root.mkdir()
    lease = SimpleNamespace(status=SimpleNamespace(generation=1), ended=0)
    starts: list[int] = []

    def starter(_generation: int, attempt: int, _after: int) -> SimpleNamespace:
        starts.append(attempt)
        return SimpleNamespace(epoch=lambda: None, alive=lambda: True)

    made = QueryCycle(a_flow(), lease, TopicWatcher(a_flow(), directory, None), starter)
    made.starts, made.directory = starts, directory
    return made


def test_bl_236_without_space_no_query_starts_and_the_reason_says_so(flow, disk):
    disk.fill()
    with capture_logs() as logs:
        for _ in range(9):
            flow.start()
    assert flow.starts == []
    assert [each["event"] for each in logs] == ["plan file not written", "query not started"]
    assert flow.pauses._until - time.monotonic() <= 5.0, (
        "it is looked again soon, however long it was"
    )
    assert flow.problem == (
        f"no space in {flow.directory.root}: free some there, and copying continues by itself"
    )
    disk.free()
    flow.start()
    assert flow.starts == [10]
    assert read_json(flow.directory.plan)["run"] is True


def test_bl_236_a_query_that_ends_without_space_is_explained_by_that(flow, disk):
    disk.fill()
    flow._fail("the query ended: java.io.IOException: No space left on device", 0.0)
    assert flow.problem.startswith(f"no space in {flow.directory.root}: ")
    disk.free()
    flow._fail("the query ended: another reason", 0.0)
    assert flow.problem == "the query ended: another reason"


def test_bl_236_a_checkpoint_that_cannot_be_made_ends_no_driver(flow):
    def starter(*_: int) -> None:
        raise OSError(28, "No space left on device")

    flow._starter = starter
    flow.start()
    assert flow.query is None
    assert flow.problem == "starting the query: [Errno 28] No space left on device"


def test_bl_236_a_plan_that_was_not_written_is_written_when_there_is_space(tmp_path, disk):
    directory = FlowDir(tmp_path)
    made = TopicWatcher(a_flow(), directory, None)
    made._looking = SimpleNamespace(done=lambda: False)
    made.write(run=False)
    disk.fill()
    made.write(run=True)
    made.look({})
    assert read_json(directory.plan)["run"] is False, "it is whole, though old"
    disk.free()
    made.look({})
    assert read_json(directory.plan)["run"] is True
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


def test_bl_236_a_driver_that_starts_without_space_is_started_again(tmp_path, disk, capsys):
    config = a_config()
    disk.fill()
    reading, directory = SimpleNamespace(config=config), AppDir.of(tmp_path, "B")
    assert replicate._drive(None, reading, config.flows, directory) == DIED
    assert f"no space in {tmp_path / 'apps' / 'B'}" in "".join(capsys.readouterr())


def test_bl_236_a_log_without_space_ends_no_driver():
    code = (
        "import structlog; from spark_jobs.process import logs; logs.configure_logs()\n"
        "structlog.get_logger().info('epoch', records=7)\n"
        "print('alive')"
    )
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        ran = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert ran.stdout == b"alive\n"
