"""A drill on real brokers, with real drivers: what it measures, and that nothing stays."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest
from support.flows.command import run_command
from support.flows.killed_operator import killed_at
from support.records import kafka_records

from orchestration.services.state_directory import HOME_VARIABLE
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_store import StateStore
from replication.state import (
    PROBE_TOPIC,
    PRODUCERS_TOPIC,
    Drill,
    anchors_topic,
    offsets_topic,
    status_topic,
)
from replication.state.drill_names import DrillNames

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

# What brokers create for themselves, and where the result is kept.
STAYS = {"__consumer_offsets", "__transaction_state", PRODUCERS_TOPIC, PROBE_TOPIC}


class Pair:
    """Two clusters with a flow between them, which nobody runs."""

    def __init__(self, a, b, folder: Path) -> None:
        self.a, self.b, self.home = a.bootstrap_servers, b.bootstrap_servers, folder / "state"
        self.file = folder / "mm2.properties"
        self.file.write_text(
            "clusters = A, B\n"
            f"A.bootstrap.servers = {self.a}\nB.bootstrap.servers = {self.b}\n"
            "A->B.enabled = true\nA->B.topics = none-of-these\nreplication.factor = 1\n"
            "sync.group.offsets.enabled = true\nsync.group.offsets.interval.seconds = 1\n"
        )
        self.names = DrillNames("A", "B")

    def topics(self, bootstrap: str) -> set[str]:
        return KafkaAdmin({"bootstrap.servers": bootstrap}).topic_names()

    def last(self, *, good: bool) -> Drill | None:
        store = StateStore({"bootstrap.servers": self.b}, 1)
        return store.read(status_topic("A")).get(Drill("A->B", good).key())

    def registered(self, bootstrap: str) -> set[bytes]:
        """Return the keys of the registry whose newest record is one of a drill."""
        newest = {
            each.key: each.value
            for each in kafka_records.consume_all(bootstrap, PRODUCERS_TOPIC, "read_uncommitted")
        }
        return {key for key, value in newest.items() if value and b"-drill-" in value}

    def processes(self) -> list[str]:
        """Return the commands of processes that work in the drill's state directory."""
        found = []
        for each in psutil.process_iter():
            try:
                command = " ".join(each.cmdline())
            except psutil.Error:
                continue
            if str(self.home / "drills") in command:
                found.append(command)
        return found


@pytest.fixture
def pair(source_cluster, target_cluster, tmp_path, monkeypatch):
    both = Pair(source_cluster, target_cluster, tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(both.home))
    return both


def test_a_drill_measures_compares_and_leaves_nothing_behind_although_one_before_was_killed(pair):
    before = {each: pair.topics(each) for each in (pair.a, pair.b)}
    command = ("drill", pair.file, "--flow", "A->B", "--yes")
    killed_at("lose source", command)
    assert pair.names.topic in pair.topics(pair.a) & pair.topics(pair.b)
    assert pair.processes()
    assert pair.last(good=True) is None

    ended = run_command(*command, "-o", "json")
    assert ended.code == 0, ended
    (report,) = json.loads(ended.out)["drills"]
    assert report["good"]
    assert report["problems"] == []
    steps = [each["step"] for each in report["operation"]["done"]]
    assert (steps[0], steps[3], steps[-1]) == ("clear", "fail over", "clean up")
    assert 0 < report["rto_s"] < report["failback_s"] + 60
    assert report["tail_records"] >= report["rpo_records"]
    assert report["tail_records"] > 20  # a second of writing behind the loss
    for side in ("source", "target"):
        found = report[side]
        assert found["records"] > 900
        assert (found["lost"], found["repeated"], found["different"]) == (0, 0, 0)

    page, data = (Path(each).read_text() for each in report["files"])
    assert json.loads(data)["id"] == report["id"]
    assert '<span class="good">good</span>' in page
    assert not any(each in page for each in ("http", "<script", "src="))
    good = pair.last(good=True)
    assert isinstance(good, Drill)
    assert (good.id, good.rto_s) == (report["id"], report["rto_s"])

    own = {topic("A") for topic in (anchors_topic, offsets_topic, status_topic)}
    assert pair.topics(pair.a) - before[pair.a] <= STAYS - {PRODUCERS_TOPIC, PROBE_TOPIC}
    assert pair.topics(pair.b) - before[pair.b] <= STAYS | own
    assert pair.processes() == []
    assert sorted(each.name for each in pair.home.iterdir()) == ["reports"]
    assert not pair.registered(pair.b)
    for each in (pair.a, pair.b):
        admin = KafkaAdmin({"bootstrap.servers": each})
        listed = admin._checked._clients.get().list_consumer_groups()
        groups = {found.group_id for found in listed.result(20).valid}
        assert pair.names.group not in groups


def test_a_dry_run_shows_the_steps_and_changes_nothing(pair):
    before = {each: pair.topics(each) for each in (pair.a, pair.b)}
    ended = run_command("drill", pair.file, "--dry-run")
    assert ended.code == 0, ended
    assert f"create {pair.names.topic}" in ended.out
    assert ended.lines[-1] == "nothing was changed"
    assert {each: pair.topics(each) for each in (pair.a, pair.b)} == before
    assert not pair.home.exists()
