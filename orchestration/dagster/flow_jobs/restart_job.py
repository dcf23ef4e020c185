"""Stops and starts the Spark application of a flow."""

import dagster as dg

from orchestration.dagster.flow_jobs.chosen_flow import chosen, report_change
from orchestration.dagster.jobs import APPLICATION_TAG, start_application
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.observation.flow_look import FlowLook
from orchestration.services.asset_names import slug
from replication.errors import ClusterRejected
from replication.model import Desired


@dg.op(description="Stop the Spark application of a flow and start it again.")
def restart_application(context: dg.OpExecutionContext, isthmus: IsthmusResource) -> None:
    """Restart the application; its other flows restart too. Raises Failure with the reason."""
    with chosen(context, isthmus) as run:
        look, app = run.look(), run.application
        if look is not None and look.seen.desired is not Desired.RUN:
            raise ClusterRejected(
                f"{run.flow.name}: the desired state is {look.seen.desired}: resume it instead"
            )
        # So that the supervisor launches nothing meanwhile.
        context.instance.add_run_tags(context.run_id, {APPLICATION_TAG: slug(app.name)})
        before = _generation(look)
        start_application(context, isthmus, app, restart=True)
        after = _generation(run.look())
        flows = ", ".join(app.flows)
        text = f"application {app.name} restarted: generation {before} -> {after}; flows {flows}"
        report_change(context, run.flow, text)


def _generation(look: FlowLook | None) -> int | str:
    status = look.seen.status if look is not None else None
    return status.generation if status is not None else "unknown"
