"""``isthmus batch``: runs the batch flows of a file once, without Dagster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from orchestration.cli.flows.flow_options import File, Named  # noqa: TC001 - Typer reads them
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.flows.batch_run import BatchRunner, RunOutcome, RunProgress
from orchestration.flows.intents import named_flows
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import reachable_flows
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.errors import ConfigError, ReplicationError
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application


def batch(
    file: File,
    flow: Named = None,
    *,
    output: Format = Output.TEXT,
) -> None:
    """Copy what the sources of FILE's batch flows have now, and end.

    For flows with `mode = batch`. A run continues where the one before ended,
    also if that was killed. Records that come during a run may be copied too.
    Dagster runs it on `batch.schedule`.

    Exit code 0: all was copied; 1: not all, and the last line says why.
    """
    config = read_config(file)
    chosen = batch_flows(config, flow or ())
    java()
    pyspark_home()
    apps = {name: app for app in applications(config) for name in app.flows}
    launcher = Launcher(state_directory(), file.absolute())
    flows, left = reachable_flows(config, [each.name for each in chosen])
    found = [_run(each, apps[each.name], launcher) for each in flows]
    found += [RunOutcome(name, why) for name, why in left.items()]
    if not output.is_text:
        print_data([as_data(each) for each in found], output)
    code = 1 if any(each.problem for each in found) else 0
    end(code, "\n".join(each.sentence for each in found), is_output=output.is_text)


def _run(flow: Flow, app: Application, launcher: Launcher) -> RunOutcome:
    """Run one flow; what refuses it is the problem of its outcome, so that others are run."""
    try:
        with run_bar(flow.name) as show:
            return BatchRunner(flow, app, KafkaClusters(), launcher, show).run()
    except ReplicationError as error:
        return RunOutcome(flow.name, str(error))


def batch_flows(config: Config, names: Sequence[str]) -> Sequence[Flow]:
    """Return the batch flows called ``names``, or all. Raises ConfigError for others, or none."""
    known = [each for each in config.flows if each.is_batch]
    chosen = list(named_flows(config, names)) if names else known
    streams = [each for each in chosen if not each.is_batch]
    if streams or not known:
        flow = (streams or config.flows)[0].name
        raise ConfigError(
            f"{config.path}: {flow} is a stream, which `isthmus run` copies; for runs that end set "
            f"{flow}.mode = batch"
        )
    return chosen


def as_data(found: RunOutcome) -> dict[str, object]:
    """Return a run as plain data for ``-o json``; its keys are kept for scripts."""
    return {
        "flow": found.flow,
        "problem": found.problem,
        "records": found.records,
        "seconds": round(found.seconds, 1),
        "ranges": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "target": each.target,
                "begin": each.begin,
                "end": each.end,
                "records": each.records,
            }
            for each in found.ranges
        ],
    }


@contextmanager
def run_bar(name: str, total: int = 0) -> Iterator[Callable[[RunProgress], None]]:
    """Give what shows how far a run is, in a bar; ``total``: records, as far as they are known."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console(stderr=True)) as progress:
        bar = progress.add_task(name, total=total or None)

        def show(now: RunProgress) -> None:
            progress.update(bar, completed=now.records, total=now.records + now.left or None)

        yield show
