"""``isthmus report``: writes one HTML page about the flows, for people who do not run them."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.reachability import left_on_failure, reachable_flows, require_none_left
from orchestration.flows.status_view import StatusView
from orchestration.report.event_log import open_history, stored_samples
from orchestration.report.flow_history import FlowSeries
from orchestration.report.over_time import SAMPLE_MS, over_time
from orchestration.report.page import page
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import state_directory
from replication.clock import now_ms
from replication.durations import parse_duration
from replication.errors import EnvironmentProblem
from replication.state import Drill, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.services.state_directory import StateDirectory
    from replication.settings.flow_settings import Flow

_PAGE = Path("isthmus-report.html")


def report(
    file: File,
    *,
    page_file: Annotated[
        Path, typer.Option("--file", help="The page to write; it is replaced as a whole.")
    ] = _PAGE,
    seconds: Annotated[
        int, typer.Option(min=1, help="Seconds to sample the flows; there is a sample a second.")
    ] = 30,
    since: Annotated[
        str, typer.Option(help="Span of Dagster's history on the page, such as 24h; 0: none.")
    ] = "24h",
) -> None:
    """Watch the flows for some seconds, and write one HTML page about them.

    It shows topology, states, lag, throughput, latency, a heat map of topics, losses, groups and
    drills, and needs no other file. Older data comes from Dagster's history in the state
    directory of `isthmus run`. Exit code 1: a target did not answer at the end, and the page says
    so of its flows; or the page could not be written.
    """
    back_ms = _span_ms(since)
    config = read_config(file)
    _, unreached = reachable_flows(config, None, sources=False)
    histories = {
        each.name: FlowSeries(each.name, each.lag_sla.total_seconds()) for each in config.flows
    }
    view = StatusView(config, Launcher(state_directory(), file.absolute()))
    for _ in each_second(seconds):
        at_ms = now_ms()
        for found in view.look():
            histories[found.name].add(found, at_ms)
    until_ms = now_ms()
    left = {
        name: unreached.get(name, each.silence)
        for name, each in histories.items()
        if not each.is_known
    }
    known = [each for each in config.flows if each.name not in left]
    left |= _add_drills(histories, known, KafkaClusters())
    if back_ms:
        _add_past(histories, state_directory(), since, back_ms)
    try:
        page_file.write_text(page(list(histories.values()), until_ms))
    except OSError as error:
        raise EnvironmentProblem(f"writing {page_file}: {error.strerror}") from error
    typer.echo(f"wrote {page_file}")
    require_none_left(left)


def each_second(seconds: int) -> Iterator[None]:
    """Yield at once, and then as each second begins, until ``seconds`` are over.

    Seconds that begin while the caller works, as when a cluster is silent, are left out.
    """
    screen, began, passed = console(stderr=True), time.monotonic(), 0
    with Progress(console=screen, disable=not screen.is_terminal) as progress:
        bar = progress.add_task("sampling", total=seconds)
        while passed < seconds:
            yield
            passed = math.floor(time.monotonic() - began) + 1
            if passed < seconds:
                time.sleep(max(0.0, began + passed - time.monotonic()))
            progress.update(bar, completed=passed)


def _span_ms(text: str) -> int:
    try:
        return int(parse_duration(text).total_seconds() * 1000)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from None


def _add_past(
    histories: Mapping[str, FlowSeries], where: StateDirectory, span: str, back_ms: int
) -> None:
    history = open_history(where)
    if history is None:
        typer.echo(f"Dagster has no history in {where.dagster}: the page has only new samples")
        return
    until_ms = now_ms()
    with history:
        for name, each in histories.items():
            # An observation before the span says how it began.
            stored = stored_samples(history, name, until_ms - back_ms - SAMPLE_MS)
            title = f"The last {span}, from Dagster's history"
            each.past = over_time(stored, title, until_ms - back_ms, until_ms)


def _add_drills(
    histories: Mapping[str, FlowSeries], flows: Iterable[Flow], clusters: ClusterClients
) -> dict[str, str]:
    """Give each flow its drills; return of which they could not be read, and why."""
    failed: dict[str, str] = {}
    for flow in flows:
        histories[flow.name].drills = None
        with left_on_failure(failed, flow.name):
            histories[flow.name].drills = _drills(flow, clusters)
    return failed


def _drills(flow: Flow, clusters: ClusterClients) -> tuple[Drill, ...]:
    records = clusters.store(flow).read(status_topic(flow.source)).values()
    return tuple(each for each in records if isinstance(each, Drill) and each.flow == flow.name)
