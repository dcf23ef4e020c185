"""When the target's disks are looked at, and what an answer that does not come changes."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from support.settings.configs import a_flow

from replication.client.cluster_facts import LogDir
from replication.errors import ClusterRejected, ClusterUnavailable
from spark_jobs.budget import disk_watch as module
from spark_jobs.budget.disk_watch import DiskWatch

FULL, EMPTY = LogDir(1, "/data", 1000, 10), LogDir(1, "/data", 1000, 900)


def flow(least: int):
    made = a_flow()
    copying = replace(made.copying, target_free_percent=least)
    return made.model_copy(update={"copying": copying})


class Looks:
    """A watch that runs what it submits at once; ``answers`` come one after the other."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), 0
        self.watch = DiskWatch(self.read, self)

    def read(self, _flow):
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return (answer,)

    def submit(self, work, *arguments) -> Future:
        done: Future = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001 -- as an executor does
            done.set_exception(error)
        return done

    def limit(self, least: int = 5) -> int:
        """Look now; return the limit then."""
        self.watch._look_at = 0.0
        for _ in range(2):
            self.watch.look(flow(least))
        return self.watch.limit.bytes_per_second


@pytest.mark.parametrize(
    ("answer", "stays"), [(ClusterUnavailable("no answer"), True), (ClusterRejected("no"), False)]
)
def test_a_target_that_is_silent_changes_nothing_and_one_that_refuses_tells_nothing(answer, stays):
    looks = Looks(FULL, answer)
    before = looks.limit()
    assert before
    assert looks.limit() == (before if stays else 0)


def test_the_beginning_and_the_end_of_a_limit_are_logged_once_each():
    looks = Looks(EMPTY, FULL, FULL, EMPTY, EMPTY)
    with capture_logs() as logs:
        for _ in range(5):
            looks.limit()
    first, last = (each["reason"] for each in logs)
    assert first.startswith("the disk of B's broker 1 fills")
    assert last == "the disks of B have space again"


def test_disks_are_looked_at_once_a_minute_or_when_another_share_is_wanted(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    looks = Looks(*[EMPTY] * 9)
    for _ in range(59):
        looks.watch.look(flow(5))
        now[0] += 1
    assert looks.asked == 1
    looks.watch.look(flow(95))
    looks.watch.look(flow(95))
    assert looks.asked == 2
    assert looks.watch.limit.bytes_per_second
    looks.watch.look(flow(0))
    assert (looks.watch.limit.bytes_per_second, looks.watch.limit.reason) == (0, "")
    now[0] += 100
    looks.watch.look(flow(0))
    assert looks.asked == 2
