"""``isthmus logs``: shows the newest lines of the logs on this machine, and follows them."""

from __future__ import annotations

import re
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.flows.flow_options import File, Named  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.errors import end
from orchestration.flows.intents import named_flows
from orchestration.flows.kafka_clients import read_config
from orchestration.services.keeper import NAMES
from orchestration.services.state_directory import state_directory
from replication.supervision.driver_supervision import applications

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

POLL_S = 0.5


@dataclass(slots=True)
class Log:
    """A log that may not exist yet. Lines about ``others`` alone are left out."""

    name: str
    path: Path
    others: tuple[str, ...] = ()  # flows that were not asked for
    chosen: tuple[str, ...] = ()
    position: int = 0

    def last(self, lines: int) -> list[str]:
        """Return the last lines, and remember how far the log was read."""
        return list(deque(self.new(), maxlen=lines))

    def new(self) -> Iterator[str]:
        """Yield what was appended since the last call, by whole lines."""
        try:
            with self.path.open("rb") as file:
                if self.path.stat().st_size < self.position:  # it was moved aside meanwhile
                    self.position = 0
                file.seek(self.position)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self.position += len(line)
                    text = line.decode(errors="replace").rstrip("\n")
                    if self._is_shown(text):
                        yield text
        except FileNotFoundError:
            self.position = 0

    def _is_shown(self, text: str) -> bool:
        return not _names(text, self.others) or _names(text, self.chosen)


def _names(text: str, flows: Iterable[str]) -> bool:
    """Say whether a line names one of these flows: in ``northwest->hub`` no ``west->hub`` is."""
    return any(re.search(rf"(?<![\w.-]){re.escape(each)}(?![\w-]|\.\w)", text) for each in flows)


def logs(
    file: File,
    *,
    flow: Named = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-F", help="Show what is appended, until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="How many lines of each log at first.")
    ] = 50,
    dagster: Annotated[
        bool, typer.Option("--dagster", help="Also the logs of Dagster's services.")
    ] = False,
) -> None:
    """Show the newest lines of the drivers' logs on this machine.

    With several logs each line begins with the name of its own. Exit code 1: there is no log here.
    """
    config = read_config(file)
    names = {each.name for each in named_flows(config, flow)}
    found = [
        Log(
            app.name,
            state_directory().app(app.name) / "driver.log",
            tuple(each for each in app.flows if each not in names),
            tuple(each for each in app.flows if each in names),
        )
        for app in applications(config)
        if names & set(app.flows)
    ]
    if dagster:
        found += [Log(name, state_directory().logs / f"{name}.log") for name in (*NAMES, "keeper")]
    if not follow and not any(each.path.exists() for each in found):
        end(
            1,
            f"no log in {state_directory().root}: "
            "did these flows run on this machine, from this directory?",
        )
    for each in found:
        _print(each, each.last(lines), several=len(found) > 1)
    while follow:
        time.sleep(POLL_S)
        for each in found:
            _print(each, each.new(), several=len(found) > 1)


def _print(log: Log, lines: Iterable[str], *, several: bool) -> None:
    for line in lines:
        typer.echo(f"{log.name}: {line}" if several else line)
