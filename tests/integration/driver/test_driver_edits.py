"""A configuration file that is edited while its flow runs: one driver, edit after edit."""

from __future__ import annotations

import time
import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records

from replication.model import FlowState, PartitionState
from replication.state import AbsentTopic, status_topic

if TYPE_CHECKING:
    from replication.state import FlowStatus

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def running(source_cluster, target_cluster, tmp_path_factory):
    home = tmp_path_factory.mktemp("edits") / "app"
    with closing(Application(source_cluster, target_cluster, home)) as application:
        application.topic("first")  # without any the flow is DEGRADED: nothing matches
        application.start(module="watch")
        application.await_state(FlowState.RUNNING)
        yield application


def edit(application: Application, before: str, after: str) -> FlowStatus:
    """Edit the file; return the status as soon as the driver has read the edit."""
    text, read_ms = application.config.read_text(), application.status().config_read_ms
    assert before in text
    application.config.write_text(text.replace(before, after))
    wait_for(lambda: application.status().config_read_ms > read_ms)
    return application.status()


def new_topic(application: Application, name: str) -> str:
    topic = f"{name}-{uuid.uuid4().hex[:6]}"
    return kafka_records.create_topic(application.source.bootstrap_servers, topic, 2)


def copy(application: Application, topic: str, seed: int = 1) -> None:
    """Have some records copied, each once and unchanged."""
    application.produce(topic, 300, seed)
    wait_for(lambda: application.is_copied(topic))


def seconds_to_copy(application: Application, topic: str) -> float:
    """Have 200 kB of one partition copied; at 50 kB/s, a unit's share, it takes 4 s longer."""
    records = [(0, None, b"x" * 10_000) for _ in range(20)]
    small = {"batch.size": 20_000}  # of one batch a Fetch gets all
    kafka_records.produce(application.source.bootstrap_servers, topic, records, small)
    begin = time.monotonic()
    wait_for(lambda: application.is_copied(topic))
    return time.monotonic() - begin


def test_a_topic_that_is_added_to_the_file_is_copied_within_seconds(running):
    """BL-141. No restart: the same process of the same generation copies it."""
    topic, before = new_topic(running, "stock"), running.status()
    running.produce(topic, 300)
    edit(running, f"topics = {running.alias}-.*", f"topics = {running.alias}-.*, {topic}")
    wait_for(lambda: running.is_copied(topic))
    after = running.status()
    assert (after.pid, after.generation) == (before.pid, before.generation)
    assert after.config != before.config
    log = (running.home / "state" / "apps" / "B" / "driver.log").read_text()
    assert f"{running.flow}: topics: {running.alias}-.* → {running.alias}-.*, {topic}" in log


def test_a_topic_that_is_excluded_in_the_file_is_not_copied_any_more(running):
    topic, other = running.topic("out"), running.topic("in")
    copy(running, topic)
    edit(running, "replication.factor = 1\n",
         f"replication.factor = 1\ntopics.exclude = .*internal, {topic}\n")  # fmt: skip
    wait_for(lambda: all(is_clean for _, is_clean in running.producers(topic).values()))
    key = AbsentTopic(running.flow, topic).key()
    gone = wait_for(lambda: running.state(status_topic(running.alias)).get(key))
    assert gone.state == PartitionState.NOT_SELECTED
    running.produce(topic, 100, 2)
    copy(running, other)
    assert not running.is_copied(topic)
    edit(running, f", {topic}\n", "\n")
    wait_for(lambda: running.is_copied(topic))


def test_a_byte_budget_is_in_force_without_another_query(running):
    topic, before = running.topic("budget"), running.status()
    copy(running, topic)
    quick, budget = min(seconds_to_copy(running, topic) for _ in range(2)), 50_000 * before.units
    edit(running, "replication.factor = 1\n",
         f"replication.factor = 1\ncopy.max.bytes.per.second = {budget}\n")  # fmt: skip
    wait_for(lambda: seconds_to_copy(running, topic) > quick + 2)
    edit(running, f"copy.max.bytes.per.second = {budget}\n", "")
    assert running.status().pid == before.pid


def test_a_disk_of_the_target_that_fills_slows_the_flow_down_and_its_status_says_so(running):
    topic, before = running.topic("disk"), running.status()
    copy(running, topic)
    edit(running, "replication.factor = 1\n",
         "replication.factor = 1\ncopy.target.free.percent = 100\n")  # fmt: skip
    wait_for(lambda: "less than copy.target.free.percent = 100" in running.status().reason)
    assert running.status().state == FlowState.RUNNING
    copy(running, topic, 2)
    edit(running, "copy.target.free.percent = 100\n", "")
    wait_for(lambda: "copy.target.free.percent" not in running.status().reason)
    assert running.status().pid == before.pid


def test_a_broken_edit_changes_nothing_and_the_status_names_its_line(running):
    """BL-138."""
    topic, text = running.topic("broken"), running.config.read_text()
    running.config.write_text(f"{text}lag.sla.secnds = 5\n")
    line = text.count("\n") + 1
    wait_for(lambda: running.status().config_problem)
    problem = running.status().config_problem
    assert f"isthmus.properties:{line}: lag.sla.secnds: unknown key" in problem
    assert running.status().state == FlowState.RUNNING
    copy(running, topic)
    running.config.write_text(text)
    wait_for(lambda: not running.status().config_problem)


def test_another_number_of_units_begins_with_another_query(running):
    topic, before = running.topic("units"), running.status()
    copy(running, topic)
    edit(running, "tasks.max = 2", "tasks.max = 1")
    wait_for(lambda: running.status().units == 1)
    running.await_state(FlowState.RUNNING)
    copy(running, topic, 2)
    assert running.status().pid == before.pid


@pytest.mark.last
def test_what_only_a_start_puts_into_force_restarts_the_driver_cleanly(running):
    topic, before = running.topic("restart"), running.status()
    copy(running, topic)
    edit(running, "tasks.max = 1", "tasks.max = 1\nspark.conf.spark.app.name = edited")
    wait_for(lambda: running.status().generation > before.generation)
    copy(running, topic, 2)
    assert running.status().pid != before.pid
    log = (running.home / "state" / "apps" / "B" / "driver.log").read_text()
    assert 'driver ends for the edited file reason="Spark\'s settings"' in log
    ended = log[: log.rindex("driver ends for the edited file")]
    assert "clean=True" in log[len(ended) :]
