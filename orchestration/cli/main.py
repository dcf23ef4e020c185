"""The command ``isthmus``: its list of subcommands, and the exit code of each error.

A subcommand's module is imported when it is called: ``isthmus --help`` answers at once, and
``isthmus check`` does not import Dagster.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, NamedTuple

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup

from orchestration.cli.screen.completion import VARIABLE
from orchestration.cli.screen.errors import print_error
from orchestration.cli.screen.examples import with_examples
from orchestration.cli.screen.interrupts import guard_signals
from orchestration.cli.screen.pipes import guard_pipes
from replication.errors import ConfigError, ReplicationError

_INTERRUPTED = 130  # as a shell reports Ctrl-C


class Verb(NamedTuple):
    """A subcommand: its ``module`` in this package, ``attribute`` a function or a Typer."""

    module: str
    attribute: str
    help: str


VERBS = {
    "demo": Verb(
        "local.demo", "demo", "Start Kafka clusters here, write to them, copy, and show the flows."
    ),
    "run": Verb("local.run", "run", "Start Dagster and the flows of a file, and show the flows."),
    "batch": Verb(
        "local.batch", "batch", "Copy what the sources of batch flows have now, and end."
    ),
    "backfill": Verb(
        "local.backfill",
        "backfill",
        "Copy source records from before a flow's first copied record.",
    ),
    "init": Verb("configuration.init", "init", "Write a properties file for two clusters."),
    "check": Verb(
        "configuration.check",
        "check",
        "Check a file: its flows, where settings come from, its errors.",
    ),
    "doctor": Verb(
        "configuration.doctor",
        "doctor",
        "Check machine and clusters; report problems and what to do.",
    ),
    "plan": Verb(
        "configuration.plan", "plan", "Show the changes that `apply` would make, with reasons."
    ),
    "apply": Verb(
        "configuration.plan", "apply", "Make these changes: topics, partitions, configs, ACLs."
    ),
    "set": Verb(
        "configuration.set_key", "set_key", "Change one key of a file; running flows apply it."
    ),
    "topology": Verb(
        "configuration.topology", "topology", "Draw the flows of a file and the target topic names."
    ),
    "acls": Verb("configuration.acls", "app", "Print the ACLs that Isthmus needs on each cluster."),
    "status": Verb("flows.status", "status", "Show state, lag and throughput of every flow."),
    "alert": Verb("flows.alert", "app", "Send a test alert."),
    "pause": Verb("flows.intents", "pause", "Pause flows; their Spark application keeps running."),
    "resume": Verb("flows.intents", "resume", "Resume paused or stopped flows."),
    "stop": Verb(
        "flows.intents", "stop", "Stop flows, and a Spark application with its last flow."
    ),
    "restart": Verb("flows.restart", "restart", "Stop flows cleanly and let them run again."),
    "report": Verb("local.report", "report", "Write one HTML page about the flows."),
    "logs": Verb("local.logs", "logs", "Show the drivers' logs of this machine."),
    "resolve": Verb(
        "flows.resolve", "resolve", "List halted partitions, or set how they continue."
    ),
    "losses": Verb("flows.resolve", "losses", "List offsets that were not copied, with reasons."),
    "takeover": Verb(
        "positions.handover", "takeover", "Take flows over from MirrorMaker 2, where it stopped."
    ),
    "handback": Verb(
        "positions.handover", "handback", "Hand flows back to MirrorMaker 2, where they stopped."
    ),
    "failover": Verb(
        "recovery.failover", "failover", "Open a target for clients after the loss of a source."
    ),
    "failback": Verb(
        "recovery.failback", "failback", "Move clients back to a source that was lost."
    ),
    "switchover": Verb(
        "recovery.switchover", "switchover", "Move clients to a target while the source works."
    ),
    "drill": Verb(
        "recovery.drill", "drill", "Practise a failover and a failback with canary records."
    ),
    "transform": Verb(
        "flows.transform", "transform", "Show records before and after their transform."
    ),
    "heartbeats": Verb("flows.heartbeats", "heartbeats", "Show the age of the newest heartbeats."),
    "offsets": Verb(
        "positions.offsets", "app", "Translate offsets; compare and set those of groups."
    ),
    "smoke": Verb("local.smoke", "smoke", "Copy under kill -9, then compare every record."),
    "down": Verb("local.run", "down", "Stop everything that `run` or `demo` started here."),
    "compare": Verb(
        "flows.compare",
        "compare",
        "Compare every record with its copy, all each time, in this process.",
    ),
    "completion": Verb("screen.completion", "completion", "Print a shell completion script."),
    "verify": Verb(
        "flows.verify",
        "verify",
        "Compare what was copied since the last good run, by a Spark job.",
    ),
    "dev": Verb("local.dev", "app", "Start and stop Kafka clusters on this machine."),
}


class LazyGroup(TyperGroup):
    """Lists every subcommand by name and help, and imports only the one that is called."""

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
        return with_examples(typer.main.get_command(found), name)
    single = typer.Typer(add_completion=False)
    single.command(name, help=found.__doc__ or verb.help)(found)
    return with_examples(typer.main.get_command(single), name)


app = typer.Typer(
    cls=LazyGroup,
    name="isthmus",
    no_args_is_help=True,
    add_completion=False,  # `isthmus completion`
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:  # noqa: FBT001 - Typer's signature
    if requested:
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
    """Copy topics between Kafka clusters: each record once, unchanged, with exact group offsets."""


def _version() -> str:
    try:
        return version("isthmus")
    except PackageNotFoundError:
        return "(not installed)"


def main() -> None:
    """Run the command line. An expected error becomes one message, never a stack trace.

    Exit codes: 2, a file or an argument is wrong; PIPE_CLOSED, the reader of the output has left;
    130, interrupted by Ctrl-C, SIGTERM or a closed terminal; 1, any other error. The last line of
    the output is the reason.
    """
    guard_pipes()
    guard_signals()
    if VARIABLE in os.environ:
        completion_init()
    try:
        code = app(standalone_mode=False)
    except ReplicationError as error:
        print_error(error)
        code = exit_code(error)
    except ClickException as error:
        code = _refuse(error)
    except typer.Abort:
        code = _INTERRUPTED
    finally:
        sys.stdout.flush()  # a closed pipe is handled here; at the interpreter's exit it is not
    if code == _INTERRUPTED:
        print_error("interrupted")
    sys.exit(code)


def _refuse(error: ClickException) -> int:
    """Print a wrong argument's message below the usage; return the exit code."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        print_error("no command was given")
    else:
        context = getattr(error, "ctx", None)
        if context is not None:
            typer.echo(context.get_usage(), err=True)
        print_error(error.format_message())
    return error.exit_code


def exit_code(error: ReplicationError) -> int:
    """Return 2 where the operator must change a file or an argument, else 1."""
    return 2 if isinstance(error, ConfigError) else 1


if __name__ == "__main__":
    main()
