"""All jobs about one flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.dagster.flow_jobs.approval import let_go_on
from orchestration.dagster.flow_jobs.backfill_job import BACKFILL, copy_history
from orchestration.dagster.flow_jobs.batch_job import BATCH, copy_what_is_there
from orchestration.dagster.flow_jobs.chosen_flow import flow_job
from orchestration.dagster.flow_jobs.desired_state import desired_state_op
from orchestration.dagster.flow_jobs.drill_job import practise
from orchestration.dagster.flow_jobs.halted_partitions import resolve
from orchestration.dagster.flow_jobs.planned_changes import make_changes, show_changes
from orchestration.dagster.flow_jobs.recovery_jobs import fail_back, fail_over, switch_over
from orchestration.dagster.flow_jobs.restart_job import restart_application
from orchestration.dagster.flow_jobs.sync_now import run_tasks
from orchestration.dagster.flow_jobs.verify_job import VERIFY, compare_ranges
from replication.model import Desired
from replication.recovery.procedure import DRILL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dagster as dg

MOVE_S = 4 * 3600  # clients and copies may be waited for; a run that was cut off is continued
VERIFY_S = 24 * 3600  # a first run reads all that both clusters hold
BATCH_S = 24 * 3600  # as for a verification; what is left is copied by the next run
_BACKFILL_TEXT = (
    "Copy the source records from before a flow's first copied record, or show what they are."
)
_BATCH_TEXT = "Copy what the source of a batch flow has now, and end."
_VERIFY_TEXT = "Compare what a flow copied since its last good verification, with Spark."


def flow_jobs(flows: Sequence[str], batches: Sequence[str] = ()) -> dict[str, dg.JobDefinition]:
    """Return the jobs by their names; a person chooses one of ``flows`` for each run.

    ``batches`` are the batch flows among them; without any there is no job that runs one.
    """
    runs = flow_job(copy_what_is_there, BATCH, _BATCH_TEXT, batches, BATCH_S)
    pause = desired_state_op("pause", Desired.PAUSE)
    resume = desired_state_op("run", Desired.RUN)
    stop = desired_state_op("stop", Desired.STOP)
    ops = {
        "pause_flow": (pause, "Pause a flow until it is resumed."),
        "resume_flow": (resume, "Resume a paused or stopped flow."),
        "stop_flow": (stop, "Stop a flow until it is resumed."),
        "restart_flow": (restart_application, "Restart the Spark application of a flow."),
        "resync_flow": (run_tasks, "Sync configs, ACLs and group offsets of a flow now."),
        "plan_flow": (show_changes, "Show what the plan would change on a flow's target."),
        "apply_plan": (make_changes, "Make the changes that the plan of a flow shows."),
        "say_yes": (let_go_on, "Approve the run of this flow that waits for approval."),
        "resolve_partitions": (resolve, "List halted partitions, or set how they continue."),
    }
    moves = {
        "failover": (fail_over, "Open a flow's target for clients after the loss of its source."),
        "switchover": (switch_over, "Move a flow's clients to its target while its source works."),
        "failback": (fail_back, "Move clients back to a source that was lost and is back."),
        DRILL: (practise, "Practise a failover and a failback with canary records."),
    }
    return {
        **{name: flow_job(op, name, text, flows) for name, (op, text) in ops.items()},
        **{name: flow_job(op, name, text, flows, MOVE_S) for name, (op, text) in moves.items()},
        BACKFILL: flow_job(copy_history, BACKFILL, _BACKFILL_TEXT, flows, BATCH_S),
        VERIFY: flow_job(compare_ranges, VERIFY, _VERIFY_TEXT, flows, VERIFY_S),
        **({BATCH: runs} if batches else {}),
    }
