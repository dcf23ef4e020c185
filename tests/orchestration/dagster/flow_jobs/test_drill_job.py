"""What a drill that Dagster runs tells: in the run, and on the flow's stream."""

import dagster as dg
import pytest

from orchestration.dagster.assets import stream_key
from orchestration.dagster.flow_jobs.drill_job import _report
from orchestration.drill.drill_report import DrillReport
from replication.recovery.canaries import CanaryVerdict


@pytest.mark.parametrize("problem", ["", "compare: 1 record is lost"])
def test_the_figures_of_a_drill_are_on_its_flows_stream_also_if_it_was_not_good(problem):
    whole, problems = CanaryVerdict(9), (problem,) if problem else ()
    found = DrillReport("A->B", "op1", rto_s=7.5, source=whole, target=whole, problems=problems)

    @dg.op(out=dg.Out(dg.Nothing))
    def practised(context: dg.OpExecutionContext) -> None:
        _report(context, found)

    @dg.job
    def drill():
        practised()

    with dg.DagsterInstance.ephemeral() as instance:
        result = drill.execute_in_process(instance=instance, raise_on_error=False)
        assert result.success is not bool(problem)
        (record,) = instance.fetch_observations(stream_key("A->B"), limit=5).records
        seen = record.asset_observation
        assert seen is not None
        assert seen.metadata["RTO in seconds"].value == 7.5
        assert "drill: " in (seen.description or "")
        if problem:
            (failed,) = [e for e in result.all_events if e.is_step_failure]
            assert problem in str(failed.step_failure_data.user_failure_data.description)
