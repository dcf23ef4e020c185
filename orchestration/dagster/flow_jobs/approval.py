"""A run that waits for a person's approval: it says so in its tags and its log.

Dagster has no step that a person confirms. A tag of the waiting run says what it waits for, so the
list of runs shows it; the answer is a tag too, which ``say_yes`` sets. Dagster takes a run whose
process was killed for a running one until its time is over, so a run that waits says that it lives.
"""

import time

import dagster as dg

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.chosen_flow import chosen
from orchestration.dagster.resources import IsthmusResource
from replication.adapters.local.user import user_name

WAITS, YES = "isthmus/waits_for_yes_to", "isthmus/yes_by"
BEAT = "isthmus/waited_at"  # seconds since 1970
_POLL_S = 2.0
_BEAT_S, _SILENT_S = 20.0, 90.0


def await_yes(context: dg.OpExecutionContext, flow: str, poll_s: float = _POLL_S) -> None:
    """Wait until somebody says yes to this run; who terminates it says no."""
    subject = f"{context.job_name} of {flow}"
    request = f"{subject} waits for approval: launch job say_yes for {flow}, or terminate the run"
    context.log.warning(request)
    context.log_event(dg.AssetObservation(stream_key(flow), description=request))
    context.instance.add_run_tags(context.run_id, {WAITS: subject})
    beat_at = float("-inf")
    while not (by := _tags(context.instance, context.run_id).get(YES)):
        if time.monotonic() - beat_at > _BEAT_S:
            beat_at = time.monotonic()
            context.instance.add_run_tags(context.run_id, {BEAT: f"{time.time():.0f}"})
        time.sleep(poll_s)
    context.log.info("approved by %s", by)


def _tags(instance: dg.DagsterInstance, run_id: str) -> dict[str, str]:
    run = instance.get_run_by_id(run_id)
    return dict(run.tags) if run is not None else {}


@dg.op(description="Approve the run of this flow that waits for approval.", out=dg.Out(dg.Nothing))
def let_go_on(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
    """Let the waiting run of the flow go on. Raises Failure if none waits, or several do."""
    with chosen(context, isthmus) as run:
        name = run.flow.name
    filters = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    waiting = [
        each
        for each in context.instance.get_runs(filters)
        if each.tags.get(WAITS, "").endswith(f" of {name}")
        and YES not in each.tags
        and time.time() - float(each.tags.get(BEAT, 0)) < _SILENT_S
    ]
    if len(waiting) != 1:
        names = ", ".join(f"{e.tags[WAITS]} ({e.run_id})" for e in waiting) or "none"
        raise dg.Failure(
            f"{name}: one run must wait for approval; waiting: {names}. Terminate those that you "
            "do not want",
            allow_retries=False,
        )
    (found,) = waiting
    context.instance.add_run_tags(found.run_id, {YES: user_name()})
    context.log.info("%s is approved: run %s", found.tags[WAITS], found.run_id)
    context.add_output_metadata({"changed": f"approved {found.tags[WAITS]}"})
