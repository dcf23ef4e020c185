"""``isthmus acls needed``: prints the minimal ACLs that Isthmus needs on each cluster."""

from __future__ import annotations

from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.output import print_data
from orchestration.flows.kafka_clients import read_config
from replication.adapters.auth.client_config import user_of
from replication.planning.acl_commands import commands
from replication.recovery.drill_acls import needed_with_drills

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.planning.required_acls import RequiredAcl
    from replication.settings.config import Config

app = typer.Typer(
    name="acls", no_args_is_help=True, add_completion=False, help="ACLs that Isthmus needs."
)
UNKNOWN = "User:ISTHMUS"  # where the file configures no user


class Format(StrEnum):
    text = "text"
    json = "json"
    yaml = "yaml"
    commands = "commands"


@app.callback()
def acls() -> None:
    """ACLs that Isthmus needs."""  # a callback keeps `needed` a separate subcommand


@app.command("needed")
def needed_acls(
    file: File,
    *,
    principal: Annotated[
        str | None,
        typer.Option(help="Principal, as User:name. Default: the user that the file configures."),
    ] = None,
    drill: Annotated[
        bool,
        typer.Option(
            "--drill",
            help="Also what `isthmus drill` needs; flows with `drill.schedule` always have it.",
        ),
    ] = False,
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.text,
) -> None:
    """Print the ACLs that the flows of a file need, without connecting.

    With `-o commands` they are commands for kafka-acls.sh.
    """
    config = read_config(file)
    needs = needed_with_drills(config, drills=drill)
    principals = {alias: principal or _principal(config, alias) for alias in config.clusters}
    if output in {Format.json, Format.yaml}:
        print_data([_data(each, principals) for each in needs], output)
    elif output is Format.commands:
        servers = {
            alias: ",".join(each.bootstrap_servers) for alias, each in config.clusters.items()
        }
        for line in commands(needs, servers, principals):
            typer.echo(line)
    else:
        _show(needs, principals)


def _principal(config: Config, alias: str) -> str:
    user = user_of(config.clusters[alias].client)
    return f"User:{user}" if user else UNKNOWN


def _data(need: RequiredAcl, principals: Mapping[str, str]) -> dict[str, object]:
    return {
        "cluster": need.cluster,
        "principal": principals[need.cluster],
        "resource": need.resource.kind,
        "name": need.resource.name,
        "pattern": need.resource.pattern,
        "operations": need.operations,
        "flow": need.flow,
        "why": need.why,
    }


def _show(needs: Iterable[RequiredAcl], principals: Mapping[str, str]) -> None:
    """Print a paragraph for each cluster, with one line for each resource."""
    screen = console()
    for cluster, own in groupby(needs, key=lambda each: each.cluster):
        screen.print(Text(f"{principals[cluster]} on {cluster}", style="bold"))
        for each in own:
            prefixed = " (prefixed)" if each.resource.pattern == "prefixed" else ""
            line = f"  {each.resource}{prefixed}: {' '.join(each.operations)}"
            screen.print(Text.assemble(line, (f"  {each.flow}: {each.why}", "dim")))
