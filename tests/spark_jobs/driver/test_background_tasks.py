"""Background tasks of a driver: when they run, and which outcomes are reported."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

from structlog.testing import capture_logs

from replication.errors import ClusterUnavailable
from replication.supervision.task_schedule import REPORT_EVERY_S
from spark_jobs.driver.background_tasks import BackgroundTask, BackgroundTasks

EVERY = timedelta(seconds=5)


class AtOnce:
    """Runs what is submitted before it returns."""

    def submit(self, work, *given):
        done = Future()
        done.set_result(work(*given))
        return done


class Flow:
    """The tasks of one flow, on a clock that tests move."""

    def __init__(self, *runs, pool=None):
        self.now, self.reports = 100.0, []
        pool = pool or AtOnce()
        self.tasks = BackgroundTasks("A->B", pool, self.reports.append, clock=lambda: self.now)
        self.tasks.add(BackgroundTask(f"task {n}", EVERY, run) for n, run in enumerate(runs))

    def tick(self, after_s=0.0, *, runs=True):
        self.now += after_s
        self.tasks.tick(runs=runs)


class Counting:
    """Returns how often it ran, or always the same; raises what it is given."""

    def __init__(self, outcome=None):
        self.runs, self.outcome = 0, outcome

    def __call__(self):
        self.runs += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome or f"run {self.runs}"


def test_a_task_comes_at_once_and_then_every_so_often():
    run = Counting()
    flow = Flow(run)
    for _ in range(3):
        flow.tick(4.0)
    assert run.runs == 2  # at 104 and 112: not due at 108


def test_a_flow_that_is_not_wanted_has_no_tasks():
    run = Counting()
    flow = Flow(run)
    flow.tick(runs=False)
    assert run.runs == 0
    flow.tick(runs=True)
    assert run.runs == 1


def test_a_run_that_ends_after_the_pause_began_is_still_reported():
    flow = Flow(Counting())
    flow.tick()
    flow.tick(runs=False)
    assert [each.summary for each in flow.reports] == ["run 1"]


def test_no_task_runs_twice_at_a_time_and_none_waits_for_another():
    free, begun = threading.Event(), Counting()

    def slow():
        begun()
        free.wait(10)
        return "done"

    with ThreadPoolExecutor(2) as pool:
        other = Counting()
        flow = Flow(slow, other, pool=pool)
        for _ in range(3):
            flow.tick(10.0)
            pool.submit(lambda: None).result()  # whatever was submitted before has begun
        free.set()
    assert (begun.runs, other.runs) == (1, 3)


def test_an_outcome_is_reported_when_it_changes_and_now_and_then():
    same = Flow(Counting("nothing to do"))
    for _ in range(4):
        same.tick(EVERY.total_seconds())
    assert len(same.reports) == 2, f"once, and again after {REPORT_EVERY_S} s"
    changing = Flow(Counting())
    for _ in range(4):
        changing.tick(EVERY.total_seconds())
    assert [each.summary for each in changing.reports] == ["run 1", "run 2", "run 3"]


def test_a_failure_is_logged_once_until_it_is_another_or_over():
    run = Counting(ClusterUnavailable("B is silent"))
    flow = Flow(run)
    with capture_logs() as logs:
        for _ in range(4):
            flow.tick(EVERY.total_seconds())
        run.outcome = "fine"
        for _ in range(3):
            flow.tick(EVERY.total_seconds())
    assert [each["event"] for each in logs] == [
        "background task failed",
        "background task recovered",
    ]
    assert (flow.reports[0].ok, flow.reports[0].summary) == (False, "B is silent")
    assert (flow.reports[-1].ok, flow.reports[-1].summary) == (True, "fine")


def test_a_fault_of_ours_ends_neither_the_driver_nor_the_task():
    run = Counting(ZeroDivisionError("oh"))
    flow = Flow(run)
    with capture_logs():
        for _ in range(3):
            flow.tick(EVERY.total_seconds())
    assert run.runs == 3
    assert flow.reports[0].summary == "internal error: ZeroDivisionError: oh"


def test_runs_are_counted_and_the_last_one_is_remembered():
    run = Counting("done")
    flow = Flow(run, Counting("not due"))
    assert flow.tasks.figures() == ()
    figures = []
    for outcome in ("done", ClusterUnavailable("silent"), "done"):
        run.outcome = outcome
        flow.tick(5.0)
        flow.tick()  # collects the finished run
        figures.append(flow.tasks.figures()[0])
    assert [(each.ok, each.runs, each.failures) for each in figures] == [
        (True, 1, 0), (False, 2, 1), (True, 3, 1)
    ]  # fmt: skip
    assert figures[-1].name == "task 0"
    assert figures[-1].ended_ms > 0


def test_after_an_edit_a_task_is_due_by_its_new_interval_and_keeps_its_figures():
    before, after, new = Counting(), Counting(), Counting()
    flow = Flow(before)
    flow.tick()
    later = [BackgroundTask("task 0", EVERY / 5, after), BackgroundTask("other", EVERY, new)]
    flow.tasks.replace(later)
    flow.tick(0.5)
    assert (before.runs, after.runs, new.runs) == (1, 0, 1)
    flow.tick(0.5)
    assert (before.runs, after.runs) == (1, 1)
    flow.tick(0.1)
    assert {each.name: each.runs for each in flow.tasks.figures()}["task 0"] == 2


def test_a_run_that_an_edit_finds_is_not_doubled_and_is_given_back():
    go, begun, after = threading.Event(), threading.Event(), Counting()

    def slow():
        begun.set()
        assert go.wait(10)
        return "done"

    with ThreadPoolExecutor() as pool:
        flow = Flow(slow, pool=pool)
        flow.tick()
        assert begun.wait(10)
        (running,) = flow.tasks.replace([BackgroundTask("task 0", EVERY, after)])
        flow.tick(EVERY.total_seconds())
        assert after.runs == 0
        go.set()
        assert running.result(10).summary == "done"
        flow.tick(EVERY.total_seconds())
    assert after.runs == 1
    assert flow.reports[0].summary == "done"


def test_a_task_that_is_asked_to_run_again_has_done_so_only_by_a_run_that_began_after_that():
    may_end = threading.Event()
    run = Counting()

    def wait_and_run():
        may_end.wait(10)
        return run()

    with ThreadPoolExecutor(1) as pool:
        flow = Flow(wait_and_run, pool=pool)
        flow.tick()
        flow.tasks.hasten()
        may_end.set()
        while not run.runs:
            pool.submit(int).result(10)
        flow.tick()  # collects the run that began before, and begins another one
        assert not flow.tasks.has_run_again
        pool.submit(int).result(10)
        flow.tick()
        assert (flow.tasks.has_run_again, run.runs) == (True, 2)


def test_a_report_says_when_a_run_last_ended_well():
    run = Counting("fine")
    flow = Flow(run)
    flow.tick()
    run.outcome = ClusterUnavailable("A is silent")
    for _ in range(4):
        flow.tick(EVERY.total_seconds())
    first, *failed = flow.reports
    assert first.good_ms == first.at_ms
    assert [(each.ok, each.good_ms) for each in failed] == [(False, first.good_ms)] * len(failed)
    assert failed


def test_a_task_that_only_says_that_it_is_off_is_never_done_well():
    flow = Flow()
    flow.tasks.add([BackgroundTask("groups", EVERY, lambda: "off", does_nothing=True)])
    flow.tick()
    flow.tick()
    assert [(each.ok, each.summary, each.good_ms) for each in flow.reports] == [(True, "off", 0)]
