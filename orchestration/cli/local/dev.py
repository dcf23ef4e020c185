"""``isthmus dev``: starts and stops Kafka clusters on this machine, for tests by operators."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.screen.console import console
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.stage import stage
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.demo.local_logins import connection_lines, grant_needed
from orchestration.services.state_directory import prepare, state_directory
from replication.adapters.local.files import write_whole
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, kafka_jars
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local_secured.listeners import Security  # noqa: TC001 - Typer reads it
from replication.adapters.local_secured.secured_cluster import (
    SecuredCluster,
    stored_cluster,
    stored_clusters,
)
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

app = typer.Typer(
    name="dev",
    no_args_is_help=True,
    add_completion=False,
    help="Start and stop Kafka clusters on this machine.",
)
_FLOW = """
# The first cluster's topics are copied to the second.
{source}->{target}.enabled = true
{source}->{target}.topics = .*
replication.factor = {replicas}
lag.sla.seconds = 60
"""


_NONE = "no clusters in this state directory: start some with `isthmus dev up`"


@app.command()
def up(
    *,
    clusters: Annotated[int, typer.Option(min=1, max=9, help="Number of clusters.")] = 2,
    brokers: Annotated[int, typer.Option(min=1, max=9, help="Brokers per cluster.")] = 1,
    version: Annotated[str, typer.Option(help="Kafka version.")] = DEFAULT_VERSION,
    security: Annotated[
        Security | None,
        typer.Option(help="How clients log in. Default: without TLS and without a login."),
    ] = None,
) -> None:
    """Start Kafka clusters and write a configuration that copies the first to the second.

    Clusters that were started before keep their data and addresses. With --security they have
    authorizers; Isthmus' user may do what `isthmus acls needed` prints, and no more.
    """
    prepare(state_directory())
    screen = console(stderr=True)
    chosen = [_cluster(name, brokers, version, security) for name in _names(clusters)]
    with stage(screen, f"looking for Kafka {version} (the first start downloads it)"):
        kafka_jars(version)
    names = ", ".join(each.name for each in chosen)
    with stage(screen, f"starting {len(chosen)} Kafka clusters ({names})"):
        _start(chosen)
    typer.echo("".join(f"{each.name}: {each.bootstrap_servers}\n" for each in chosen), nl=False)
    if len(chosen) > 1:
        file = write_config(chosen, state_directory().root / "dev.properties")
        grant_needed(chosen, file)
        typer.echo(f"configuration: {file}")
    if security is not None:
        typer.echo("".join(["\n", *connection_lines(chosen)]), nl=False)


@app.command()
def down(
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Also delete the clusters' data.")
    ] = False,
) -> None:
    """Stop the clusters. Their data stays for the next `up`, unless --remove is given."""
    found = stored_clusters(_directory())
    if not found:
        typer.echo(_NONE)
        return
    with ThreadPoolExecutor(len(found)) as threads:
        for line in threads.map(lambda each: _stop(each, remove=remove), found):
            typer.echo(line)


@app.command()
def status(
    *,
    output: Format = Output.TEXT,
) -> None:
    """Show the clusters, how many of their brokers run, and their bootstrap servers."""
    found = stored_clusters(_directory())
    if not output.is_text:
        print_data([_facts(cluster) for cluster in found], output)
        return
    table = TextTable(
        [*map(Column, ("cluster", "version", "brokers running", "bootstrap servers"))]
    )
    for cluster in found:
        running = f"{len(cluster.running())} of {cluster.brokers}"
        table.add(cluster.name, cluster.version, running, cluster.bootstrap_servers)
    console().print(table if found else _NONE)


def write_config(chosen: Sequence[LocalCluster], file: Path) -> Path:
    """Write a configuration of these clusters with a flow from the first to the second."""
    source, target, *_ = chosen
    lines = ["# Written by `isthmus dev up` at every start.\n"]
    lines.append(f"clusters = {', '.join(each.name for each in chosen)}\n")
    lines += connection_lines(chosen)
    replicas = min(3, target.brokers)
    lines.append(_FLOW.format(source=source.name, target=target.name, replicas=replicas))
    write_whole(file, "".join(lines))
    return file


def _directory() -> Path:
    return state_directory().root / "clusters"


def _names(count: int) -> list[str]:
    """Return the clusters' names: source and target if there are two, else c1 to cN."""
    return ["source", "target"] if count == 2 else [f"c{each + 1}" for each in range(count)]


def _cluster(name: str, brokers: int, version: str, security: Security | None) -> LocalCluster:
    """Return the cluster of that name, as it was if it has been started before."""
    try:
        found = stored_cluster(name, _directory())
    except FileNotFoundError:
        if security is None:
            return LocalCluster(name, _directory(), brokers, version)
        return SecuredCluster(name, _directory(), brokers, version, security=security)
    if (found.brokers, found.version, _security(found)) != (brokers, version, security):
        raise ConfigError(
            f"cluster {name} exists already, with {found.brokers} broker(s) of Kafka "
            f"{found.version}: start it with {_options(found)}, "
            "or delete all clusters with: isthmus dev down --remove"
        )
    return found


def _security(cluster: LocalCluster) -> Security | None:
    return cluster.security if isinstance(cluster, SecuredCluster) else None


def _options(cluster: LocalCluster) -> str:
    """Return the options of `up` that the cluster was started with."""
    security = _security(cluster)
    return f"--brokers {cluster.brokers} --version {cluster.version}" + (
        f" --security {security}" if security else ""
    )


def _start(chosen: Sequence[LocalCluster]) -> None:
    """Start all at once, or none: what did come up is stopped when another does not."""
    with ThreadPoolExecutor(len(chosen)) as threads:
        started = [threads.submit(each.start) for each in chosen]
    problems = [problem for each in started if (problem := each.exception())]
    if problems:
        for cluster in chosen:
            cluster.stop()
        raise problems[0]


def _stop(cluster: LocalCluster, *, remove: bool) -> str:
    """Stop one cluster and return the line to print."""
    done = "stopped" if cluster.running() else "was not running"
    cluster.stop()
    if not remove:
        return f"{cluster.name}: {done}"
    cluster.destroy()
    return f"{cluster.name}: {done}, data removed"


def _facts(cluster: LocalCluster) -> dict[str, object]:
    return {
        "name": cluster.name,
        "version": cluster.version,
        "brokers": cluster.brokers,
        "running": cluster.running(),
        "bootstrap_servers": cluster.bootstrap_servers,
        "security": _security(cluster),
    }
