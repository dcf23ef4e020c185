"""The command ``isthmus``: its verbs, and what an operator sees when one of them goes wrong.

A verb's module is imported when the verb is called, not before: ``isthmus --help`` answers at once,
and nobody waits for Dagster in order to check a file.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from replication.errors import ConfigError, ReplicationError


class Verb(NamedTuple):
    """Where a command lives: ``module`` below this package, ``attribute`` a function or a Typer."""

    module: str
    attribute: str
    help: str


VERBS = {
    "demo": Verb("demo", "demo", "Start two clusters, traffic and a flow between them; watch it."),
    "run": Verb("run", "run", "Run the flows of a file with Dagster in charge; watch them."),
    "check": Verb("check", "check", "Check a configuration file and say what it means."),
    "plan": Verb("plan", "plan", "Show what would change on which cluster, and why."),
    "apply": Verb("plan", "apply", "Change what `plan` shows: topics, partitions, configs, ACLs."),
    "topology": Verb("topology", "topology", "Draw the flows of a file, and what topics become."),
    "acls": Verb("acls", "app", "Print the rights that Isthmus needs on each cluster."),
    "status": Verb("status", "status", "Show what every flow is doing. Exit code 0: all is well."),
    "pause": Verb("intents", "pause", "Stop copying a flow until it is resumed."),
    "resume": Verb("intents", "resume", "Let a paused or stopped flow copy again."),
    "stop": Verb("intents", "stop", "Stop a flow, and its Spark application when it is the last."),
    "resolve": Verb("resolve", "resolve", "List partitions that wait for an answer, or answer."),
    "losses": Verb("resolve", "losses", "List what was not copied, and why."),
    "takeover": Verb("handover", "takeover", "Go on where MirrorMaker 2 stopped."),
    "handback": Verb("handover", "handback", "Let MirrorMaker 2 go on where a flow stands."),
    "heartbeats": Verb("heartbeats", "heartbeats", "Show how old the newest heartbeats are."),
    "offsets": Verb("offsets", "app", "Translate offsets, and carry groups' positions over."),
    "smoke": Verb("smoke", "smoke", "Copy under kill -9, then compare every record."),
    "down": Verb("run", "down", "End all that `isthmus run` started here."),
    "compare": Verb("compare", "compare", "Compare the records of source and target, one by one."),
    "dev": Verb("dev", "app", "Start and stop Kafka clusters on this machine."),
}


class LazyGroup(TyperGroup):
    """Lists every verb by its name and help, and imports only the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, verb in VERBS.items():
            self.add_command(TyperCommand(name, help=verb.help))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(str(name)), rest


def _load(name: str) -> Any:
    verb = VERBS[name]
    module = importlib.import_module(f"orchestration.cli.{verb.module}")
    found = getattr(module, verb.attribute)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    single = typer.Typer(add_completion=False)
    single.command(name, help=found.__doc__ or verb.help)(found)
    return typer.main.get_command(single)


app = typer.Typer(
    cls=LazyGroup,
    name="isthmus",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - the shape that Typer calls back
    if wanted:
        typer.echo(f"isthmus {_version()}")
        raise typer.Exit


@app.callback()
def isthmus(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Copy topics between Kafka clusters: every record once, bytes untouched, offsets exact."""


def _version() -> str:
    try:
        return version("isthmus")
    except PackageNotFoundError:
        return "(not installed)"


def main() -> None:
    """Run the command line. A ReplicationError becomes one message, never a stack trace.

    Exit codes: 2, something in a file or an argument is to be fixed; 1, anything else went wrong.
    """
    try:
        app()
    except ReplicationError as error:
        say_error(error)
        sys.exit(exit_code(error))


def exit_code(error: ReplicationError) -> int:
    """Return 2 where the operator must change a file or an argument, else 1."""
    return 2 if isinstance(error, ConfigError) else 1


def say_error(error: ReplicationError) -> None:
    """Print the message of ``error`` on stderr."""
    from rich.console import Console  # noqa: PLC0415 - 60 ms that only a failure should pay
    from rich.text import Text  # noqa: PLC0415 - as above

    message = Text.assemble(("error: ", "bold red"), str(error))
    Console(stderr=True, soft_wrap=True, highlight=False).print(message)


if __name__ == "__main__":
    main()
