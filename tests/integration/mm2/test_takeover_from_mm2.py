"""Takeover from the real MirrorMaker 2 and handback, while records are produced."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from support.brokers.mirrormaker import (
    SETTINGS,
    kill_mirrormaker,
    start_mirrormaker,
    stop_mirrormaker,
)
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from typer.testing import CliRunner

from bench.threads import working
from orchestration.cli.main import app
from replication.model import Desired, FlowState

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


class Both:
    """A file that both read, one topic, and whoever copies it at the moment."""

    def __init__(self, source, target, home) -> None:
        alone = "heartbeats.replication.enabled = false\n"  # the source may hold other tests' ones
        self.app = Application(source, target, home, SETTINGS + alone)
        self.topic = self.app.topic()
        self._source = kafka_records.Reader(source.bootstrap_servers, self.topic)
        self._copy = kafka_records.Reader(
            target.bootstrap_servers, f"{self.app.alias}.{self.topic}"
        )
        self.mirrormakers = []
        self._batch = 0

    @contextmanager
    def load(self, count: int = 100):
        """Produce while the block runs, ``count`` records five times a second, no two equal."""
        over = threading.Event()

        def feed() -> None:
            while not over.wait(0.2):
                self._batch += 1
                records = [(n % 2, b"%d-%d" % (self._batch, n), b"x" * n) for n in range(count)]
                kafka_records.produce(self.app.source.bootstrap_servers, self.topic, records)

        with working(over, feed):
            yield

    def source(self) -> list[tuple]:
        return [each.content for each in self._source.read()]

    def copy(self) -> list[tuple]:
        return [each.content for each in self._copy.read()]

    def is_complete(self) -> bool:
        return set(self.copy()) >= set(self.source())

    def repeated(self) -> int:
        """Return how many records the copy holds again; the source has no two equal ones."""
        copied = self.copy()
        return len(copied) - len(set(copied))

    def end(self, partition: int) -> int:
        return sum(number == partition for number, *_ in self.copy())

    def mirrormaker(self):
        self.mirrormakers.append(start_mirrormaker(self.app.config))
        return self.mirrormakers[-1]

    def await_more(self, count: int = 500) -> None:
        """Wait until the copy has grown by some records."""
        before = self._copy.offsets()
        wait_for(lambda: self._copy.offsets() >= before + count)

    def command(self, *words: str):
        return CliRunner().invoke(app, list(words))

    def translate(self, offset: int) -> str:
        file, topic = str(self.app.config), ("--topic", self.topic, "--offset", str(offset))
        return self.command("offsets", "translate", file, "-f", self.app.flow, *topic).output

    def takeover(self, *more: str):
        """Take over as soon as the workers' group has noticed that they are gone."""

        def reported():
            quick = ("--watch-seconds", "1.5")
            ran = self.command("takeover", "--from-mm2", str(self.app.config), *quick, *more)
            return ran if "MirrorMaker 2 runs" not in str(ran.exception) else None

        return wait_for(reported)

    def close(self) -> None:
        self.app.close()
        for each in self.mirrormakers:
            kill_mirrormaker(each)


@pytest.fixture(scope="module")
def both(source_cluster, target_cluster, tmp_path_factory):
    made = Both(source_cluster, target_cluster, tmp_path_factory.mktemp("over") / "app")
    yield made
    made.close()


def test_over_from_a_mirrormaker_that_crashed_and_repeated_and_back_no_record_comes_again(both):
    with both.load():
        mirrormaker = both.mirrormaker()
        both.await_more()
        running = both.command("takeover", "--from-mm2", str(both.app.config))
        assert "MirrorMaker 2 runs: 1 members in group" in str(running.exception)
        kill_mirrormaker(mirrormaker)
        mirrormaker = both.mirrormaker()
        both.await_more()
        kill_mirrormaker(mirrormaker)
        plan = both.takeover()
        assert plan.exit_code == 0, plan.output
        assert "has no members" in plan.output
        assert "more are on the target already" in plan.output
        assert "taken over" not in plan.output
        assert "2 partitions taken over" in both.takeover("--yes").output
        repeated = both.repeated()
        driver = both.app.start()
        both.await_more()
    wait_for(both.is_complete)
    assert repeated > 0, "the crash made MirrorMaker 2 repeat nothing, so this shows little"
    assert both.repeated() == repeated

    last = sum(partition == 0 for partition, *_ in both.source()) - 1
    assert "was copied before the takeover" in both.translate(0)
    assert both.translate(last).strip().endswith(f"offset {both.end(0) - 1}")

    refused = both.command("handback", "--to-mm2", str(both.app.config))
    assert "stop it first" in str(refused.exception)
    both.app.ask(Desired.STOP)
    both.app.await_state(FlowState.STOPPED)
    driver.terminate()
    driver.wait(120)
    with both.app.config.open("a") as file:  # and now in transactions, its positions too
        file.write("B.exactly.once.source.support = enabled\n")
    with both.load():
        back = both.command("handback", "--to-mm2", str(both.app.config), "--yes")
        assert "2 partitions handed back" in back.output, back
        mirrormaker = both.mirrormaker()
        both.await_more()
    wait_for(both.is_complete)
    stop_mirrormaker(mirrormaker)
    assert both.repeated() == repeated

    again = both.takeover("--yes")
    assert "2 partitions taken over" in again.output
    assert again.output.count("(0 left)") == 2, again.output
