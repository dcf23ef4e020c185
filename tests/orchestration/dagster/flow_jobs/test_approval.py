"""A run that waits for approval is visible as such, and goes on when somebody says it."""

import threading
import time

import dagster as dg
import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.flows.spark_driver import wait_for
from support.settings.configs import a_config

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.approval import BEAT, WAITS, YES, await_yes
from orchestration.dagster.flow_jobs.job_list import flow_jobs

JOBS = flow_jobs(["A->B"])


@pytest.fixture
def instance(local_instance) -> dg.DagsterInstance:
    return local_instance


@dg.op(out=dg.Out(dg.Nothing))
def careful(context: dg.OpExecutionContext) -> None:
    await_yes(context, "A->B", poll_s=0.05)


@dg.job(executor_def=dg.in_process_executor)
def failover() -> None:
    careful()


def say_yes(instance):
    return JOBS["say_yes"].execute_in_process(
        instance=instance,
        partition_key="A->B",
        resources={"isthmus": FakeIsthmus.of(World(a_config()))},
        raise_on_error=False,
    )


def test_a_run_waits_visibly_until_somebody_says_yes(instance):
    ended = []
    run = threading.Thread(
        target=lambda: ended.append(failover.execute_in_process(instance=instance)), daemon=True
    )
    run.start()
    waiting = wait_for(lambda: instance.get_runs(dg.RunsFilter(tags={WAITS: "failover of A->B"})))
    assert not ended
    seen = instance.fetch_observations(stream_key("A->B"), limit=1).records
    assert "launch job say_yes for A->B, or terminate the run" in str(seen[0].event_log_entry)
    answer = say_yes(instance)
    assert answer.success, [each.message for each in answer.all_events]
    run.join(30)
    assert ended[0].success
    assert instance.get_run_by_id(waiting[0].run_id).tags[YES]


def test_a_run_whose_process_was_killed_does_not_wait_any_more(instance):
    """Dagster calls it started for hours; the job was launched again and waits beside it."""
    dead = instance.create_run_for_job(failover, status=dg.DagsterRunStatus.STARTED)
    tags = {WAITS: "failover of A->B", BEAT: f"{time.time() - 200:.0f}"}
    instance.add_run_tags(dead.run_id, tags)
    run = threading.Thread(
        target=lambda: failover.execute_in_process(instance=instance), daemon=True
    )
    run.start()
    waits = dg.RunsFilter(tags={WAITS: tags[WAITS]})
    wait_for(lambda: sum(BEAT in each.tags for each in instance.get_runs(waits)) == 2)
    assert say_yes(instance).success
    run.join(30)
    assert not run.is_alive()
    assert YES not in instance.get_run_by_id(dead.run_id).tags


def test_a_yes_that_nobody_waits_for_is_refused(instance):
    answer = say_yes(instance)
    (failed,) = [each for each in answer.all_events if each.is_step_failure]
    description = failed.step_failure_data.user_failure_data.description
    assert description == (
        "A->B: one run must wait for approval; waiting: none. Terminate those that you do not want"
    )
