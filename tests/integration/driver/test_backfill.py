"""A backfill between real clusters beside a stream that goes on: each record once, none missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records

from replication.model import FlowState
from replication.state import Anchor, anchors_topic
from replication.state.backfill_names import BackfillNames

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]
HISTORY, LIVE = 20_000, 2_000


@pytest.fixture
def flow(source_cluster, target_cluster, tmp_path):
    made = Application(
        source_cluster, target_cluster, tmp_path / "app", more="SOURCE->B.copy.start = latest\n"
    )
    yield made
    made.close()


class Producer(threading.Thread):
    """Produces to the source until it is told to end; each of its rounds has other records."""

    def __init__(self, flow, topic):
        super().__init__(daemon=True)
        self.flow, self.topic, self.over, self.rounds = flow, topic, threading.Event(), 0

    def run(self):
        while not self.over.wait(0.2):
            self.rounds += 1
            self.flow.produce(self.topic, 200, seed=100 + self.rounds)

    def end(self):
        self.over.set()
        self.join()


def command(flow, *words):
    """Start ``isthmus`` with a state directory of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli.main", *map(str, words)],
        env={**os.environ, "ISTHMUS_HOME": str(home(flow)), "COLUMNS": "200"},
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def home(flow):
    return flow.home.parent / "home"


def ended(process):
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def backfill(flow, *options):
    return command(flow, "backfill", flow.config, "--flow", f"{flow.alias}:B", *options)


def positions(flow):
    """Return the source offsets at which the stream's partitions are."""
    found = flow.state(anchors_topic(flow.alias)).values()
    return [each.source for each in found if isinstance(each, Anchor) and each.source]


def copied_history(flow):
    names = BackfillNames(flow.alias, "B")
    found = flow.state(anchors_topic(names.source_alias)).values()
    return sum(getattr(each, "records", 0) for each in found)


def kill(flow):
    """Kill watcher, driver and command, as a loss of power would, once some history is there."""
    names = BackfillNames(flow.alias, "B")
    wait_for(lambda: flow.status(names.flow).pid and copied_history(flow) > 0)
    pid = flow.status(names.flow).pid
    watcher = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for each in (watcher, pid):
        os.kill(each, signal.SIGKILL)


def contents(cluster, topic):
    """Return the content of each partition's records, in order."""
    found = {}
    for each in kafka_records.consume_all(cluster.bootstrap_servers, topic):
        found.setdefault(each.partition, []).append(each.content)
    return found


def test_history_is_copied_once_beside_a_stream_and_after_a_kill(flow):
    topic = flow.topic()
    flow.produce(topic, HISTORY)
    flow.start()
    flow.await_state(FlowState.RUNNING)
    wait_for(lambda: len(positions(flow)) == 2)  # else a record of the stream would be history
    flow.produce(topic, LIVE, seed=2)
    producer = Producer(flow, topic)
    producer.start()

    code, out, _ = ended(backfill(flow, "--dry-run", "-o", "json"))
    assert code == 0
    plan = json.loads(out)["plan"]
    ends = {each["partition"]: each["end"] for each in plan}
    assert sum(ends.values()) == HISTORY
    assert all(each["begin"] == 0 and not each["refused"] for each in plan)
    assert copied_history(flow) == 0

    killer = threading.Thread(target=kill, args=(flow,), daemon=True)
    killer.start()
    code, out, err = ended(backfill(flow, "--bytes-per-second", 300_000))  # 20 s: time for the kill
    killer.join()
    assert code == 1, err
    code, out, err = ended(backfill(flow, "-o", "json"))
    assert code == 0, err
    run = json.loads(out)["run"]
    assert run["problem"] == ""
    assert {each["partition"]: each["end"] for each in run["ranges"]} == ends
    code, out, err = ended(backfill(flow))
    assert code == 0, err
    assert "copied 0 records" in out

    producer.end()
    here = contents(flow.source, topic)
    copy = f"{flow.alias}.{topic}"
    wait_for(
        lambda: sum(map(len, contents(flow.target, copy).values())) >= sum(map(len, here.values()))
    )
    there = contents(flow.target, copy)
    for partition, end in ends.items():
        ours, theirs = here[partition], there[partition]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
        assert is_in_order(ours[:end], theirs)
        assert is_in_order(ours[end:], theirs)
    for file in (
        flow.config,
        home(flow) / "backfills" / f"{flow.alias}-to-B" / "backfill.properties",
    ):
        code, out, err = ended(command(flow, "compare", file))
        assert code == 0, out + err


def is_in_order(some, records):
    """Say whether ``some`` records stand among ``records`` in the same order."""
    rest = iter(records)
    return all(each in rest for each in some)
