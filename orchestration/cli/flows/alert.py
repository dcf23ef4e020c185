"""``isthmus alert test``: posts a test alert to each channel, and says whether it arrived."""

from __future__ import annotations

import socket

import typer

from orchestration.alerts.alert import TEST, Alert, lines
from orchestration.alerts.channels import AlertChannel, channels
from orchestration.alerts.runbooks import runbook
from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.errors import end
from orchestration.flows.kafka_clients import read_config
from replication.clock import now_ms
from replication.planning.explain import counted

app = typer.Typer(
    name="alert",
    no_args_is_help=True,
    add_completion=False,
    help="Send a test alert.",
)


@app.callback()
def alert() -> None:
    """Try the channels that alerts are posted to."""


@app.command()
def test(
    file: File,
) -> None:
    """Post a test alert to each channel of FILE, and say of each whether it arrived.

    Connects to no Kafka cluster, and needs no running Dagster. Exit code 0: it arrived at all
    channels, or there are none but the log; 1: not at all of them; 2: the file is wrong, such as
    an URL that Apprise does not know: the other channels are tried all the same.
    """
    config = read_config(file)
    found = channels(config.alerts)
    sent = _alert(tuple(each.name for each in config.flows), config.alerts.runbooks)
    failed = [each.name for each in found if not _arrives(each, sent)]
    flaws = [f"{each.place} {each.flaw}" for each in found if each.flaw]
    if not found:
        end(0, "alerts go to Dagster's log alone: set alert.urls or alert.webhook.url",
            is_output=True)  # fmt: skip
    if flaws:
        end(2, f"error: {file}: {flaws[0]}")
    if failed:
        end(1, f"it did not arrive at {counted(len(failed), 'channel')}: {', '.join(failed)}")
    end(0, f"it arrived at {counted(len(found), 'channel')}", is_output=True)


def _arrives(channel: AlertChannel, sent: Alert) -> bool:
    problem = channel.problem(sent)
    typer.echo(f"{channel.name}: {'arrived' if problem is None else f'FAILED: {problem}'}")
    return problem is None


def _alert(flows: tuple[str, ...], base: str) -> Alert:
    link = f"{base}#{runbook('TEST').section}"
    text = lines(
        "a test of this channel; nothing is wrong",
        sent_by=f"isthmus alert test on {socket.gethostname()}",
        flows=", ".join(flows),
        runbook=link,
    )
    return Alert(TEST, "test", text, now_ms(), flows=flows, runbook=link)
