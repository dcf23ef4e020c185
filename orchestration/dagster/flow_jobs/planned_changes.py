"""Shows what a flow's target lacks, or makes these changes. As ``isthmus plan`` and ``apply``."""

import dagster as dg

from orchestration.dagster.flow_jobs.chosen_flow import chosen, report_change
from orchestration.dagster.resources import IsthmusResource
from replication.planning.apply import is_change
from replication.planning.execute import plan_and_apply
from replication.planning.explain import explain_action
from replication.planning.planner import Planner


@dg.op(description="Show what would be changed on a flow's target.")
def show_changes(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
    """List the topics, partitions, configs and ACLs that the target lacks; change nothing."""
    with chosen(context, isthmus) as run:
        plan = Planner(run.config, isthmus.task_clients()).plan(run.flow.target, {run.flow.name})
        lines = [explain_action(each) for each in plan.actions]
        for line in (*lines, *plan.problems):
            context.log.info("%s: %s", run.flow.name, line)
        count = sum(map(is_change, plan.actions))
        text = f"nothing was changed; the plan has {count} changes"
        report_change(
            context, run.flow, "; ".join((text, *plan.problems)), [{"what": each} for each in lines]
        )


@dg.op(description="Make the changes that the plan shows on a flow's target.")
def make_changes(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
    """Create topics and partitions, set configs and ACLs. Raises Failure if some were rejected."""
    with chosen(context, isthmus) as run:
        done = plan_and_apply(Planner(run.config, isthmus.task_clients()), run.flow, "Dagster")
        rows = [
            {"what": explain_action(each.action), "outcome": each.problem or str(each.result)}
            for each in done.outcomes
        ]
        for each in rows:
            context.log.info("%s: %s: %s", run.flow.name, each["what"], each["outcome"])
        report_change(context, run.flow, done.summary, rows)
        failed = [each.problem or "" for each in done.outcomes if each.failed]
        if failed or done.problems:
            why = "; ".join((*failed, *done.problems))
            raise dg.Failure(f"{run.flow.name}: {why}", allow_retries=False)
