"""The options that name flows, the same for all commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.screen.given_file import keep_file
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.settings.config import Config

_BETWEEN = re.compile(r"\s*(?:->|:)\s*")


def flow_name(written: str) -> str:
    """Return the name of a flow that is written ``A->B`` or ``A:B``.

    Raises BadParameter for what a shell leaves of an unquoted ``A->B``: it redirects to B.
    """
    if written.endswith("-"):
        raise typer.BadParameter(
            f"{written!r} is not a flow: of an unquoted {written}>B the shell takes >B for a file, "
            f"and has created it; write {written[:-1]}:B, or '{written}>B' in quotes"
        )
    return "->".join(_BETWEEN.split(written.strip(), 1))


def _flow_names(written: list[str] | None) -> list[str] | None:
    return None if written is None else [flow_name(each) for each in written]


File = Annotated[
    Path,
    typer.Argument(help="Properties file with the clusters and flows.", callback=keep_file),
]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        "-f",
        help="Flow, as A:B or 'A->B'; repeatable. Default: all flows.",
        callback=_flow_names,
    ),
]
One = Annotated[
    str, typer.Option("--flow", "-f", help="Flow, as A:B or 'A->B'.", callback=flow_name)
]
Chosen = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        "-f",
        help="Flow, as A:B or 'A->B'; repeatable. Default: the file's only flow.",
        callback=_flow_names,
    ),
]
Changed = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        "-f",
        help="Flow, as A:B or 'A->B'; repeatable. Default: all flows, or for a change the file's "
        "only flow.",
        callback=_flow_names,
    ),
]
All = Annotated[bool, typer.Option("--all", help="All flows of the file.")]


def chosen_flows(config: Config, names: Sequence[str] | None, *, all_: bool) -> Sequence[str]:
    """Return the names of the flows to change. Raises ConfigError where none was chosen.

    A command that changes something asks this.
    """
    known = [each.name for each in config.flows]
    if names and all_:
        raise ConfigError("--flow and --all exclude each other")
    if names:
        return names
    if all_ or len(known) == 1:
        return known
    listed = ", ".join(each.replace("->", ":") for each in known)
    has = f"{config.path} has {len(known)} flows"
    raise ConfigError(f"{has}: choose some with --flow ({listed}), or all with --all")


def as_options(config: Config, names: Sequence[str] | None) -> str:
    """Return the options, behind a blank, with which a change is made to the same flows."""
    return named_again(names) or (" --all" if len(config.flows) > 1 else "")


def named_again(names: Sequence[str] | None) -> str:
    """Return the options, behind a blank, that name these flows; empty: none was named."""
    return "".join(f" --flow {each.replace('->', ':')}" for each in names or ())


def flows_for(
    config: Config, names: Sequence[str] | None, *, all_: bool, changes: bool
) -> Sequence[str] | None:
    """Return the names of the flows for a command that changes them, or else only shows them.

    None: all, as what is only shown needs no choice. Raises ConfigError as ``chosen_flows``.
    """
    return chosen_flows(config, names, all_=all_) if changes or all_ else names
