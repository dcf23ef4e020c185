"""The flow of a run: the flows of the file are the partitions of these jobs.

So the launchpad opens without an error, with a list of the flows, and a run without a choice
cannot be launched there.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.assets import stream_key
from orchestration.dagster.jobs import RUN_TAGS
from orchestration.flows.intents import find_flow
from replication.errors import ReplicationError
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestration.dagster.resources import Isthmus
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application

TABLE_ROWS = 200


@dataclass(frozen=True, slots=True)
class ChosenFlow:
    """The flow that was chosen, as the file declares it now."""

    flow: Flow
    config: Config
    isthmus: Isthmus

    @property
    def application(self) -> Application:
        return next(each for each in applications(self.config) if self.flow.name in each.flows)

    def look(self) -> FlowLook | None:
        """Look at the flow. None: its clusters did not answer in time."""
        return self.isthmus.look([(self.flow, self.application)])[0]


@contextmanager
def chosen(context: dg.OpExecutionContext, isthmus: Isthmus) -> Iterator[ChosenFlow]:
    """Give the flow of this run; what goes wrong is a Failure in one line, without a stack."""
    try:
        config = isthmus.config()
        if not context.has_partition_key:
            names = ", ".join(each.name for each in config.flows)
            raise dg.Failure(f"choose a flow as the partition: {names}", allow_retries=False)
        yield ChosenFlow(find_flow(config, context.partition_key), config, isthmus)
    except ReplicationError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def flow_job(
    op: dg.OpDefinition, name: str, description: str, flows: Sequence[str], limit_s: int = 180
) -> dg.JobDefinition:
    """Return a job of one op for one of ``flows``; a run is ended after ``limit_s``."""
    graph = dg.GraphDefinition(name, node_defs=[op], description=description)
    return graph.to_job(
        executor_def=dg.in_process_executor,
        partitions_def=dg.StaticPartitionsDefinition(list(flows)),
        tags={**RUN_TAGS, "dagster/max_runtime": str(limit_s)},
    )


def report_change(
    context: dg.OpExecutionContext, flow: Flow, text: str, rows: Sequence[Mapping[str, str]] = ()
) -> None:
    """Say what a run changed: in its log, on its output and on the flow's stream."""
    context.log.info("%s: %s", flow.name, text)
    found: dict[str, dg.MetadataValue] = {
        "changed": dg.MetadataValue.text(text),
        "job": dg.MetadataValue.text(context.job_name),
    }
    if rows:
        found["details"] = table(rows)
    context.add_output_metadata(found)
    observation = dg.AssetObservation(stream_key(flow.name), description=text, metadata=found)
    context.log_event(observation)


def table(rows: Sequence[Mapping[str, str]]) -> dg.TableMetadataValue:
    """Return the rows, at most TABLE_ROWS of them, as metadata; the first names the columns."""
    columns = [dg.TableColumn(name, "string") for name in rows[0]]
    records = [
        dg.TableRecord({k: str(value) for k, value in each.items()}) for each in rows[:TABLE_ROWS]
    ]  # no members of an enum: Dagster stores plain strings only
    return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))
