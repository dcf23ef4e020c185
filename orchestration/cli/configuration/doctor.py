"""``isthmus doctor``: connects to a file's clusters and says what would keep flows from running."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.stage import Steps
from orchestration.diagnosis.diagnosis import Diagnosis
from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, of_level, verdict
from orchestration.flows.kafka_clients import read_config
from orchestration.services.state_directory import state_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

_STYLE = {
    FindingLevel.OK: "green",
    FindingLevel.NOTE: "dim",
    FindingLevel.WARNING: "yellow",
    FindingLevel.ERROR: "bold red",
}


def doctor(
    file: File,
    *,
    problems: Annotated[
        bool, typer.Option("--problems", help="Show warnings and errors alone.")
    ] = False,
    output: Format = Output.TEXT,
) -> None:
    """Connect to the clusters of FILE, and say what would keep its flows from running well.

    Looks at this machine, DNS, ports, TLS, logins, versions, brokers, disks, quotas, clocks,
    rights, and topics against their copies: record sizes, timestamps, retention. Writes nothing.
    Exit code 0: no error, warnings at most; 1: errors; 2: the file is wrong.
    """
    config = read_config(file)
    with Steps(console(stderr=True), "looking at") as steps:
        found = tuple(Diagnosis(config, state_directory().root, steps.begin).findings())
    shown = [
        each
        for each in found
        if not problems or each.level in {FindingLevel.WARNING, FindingLevel.ERROR}
    ]
    if output.is_text:
        _print(shown)
    else:
        is_well = not of_level(found, FindingLevel.ERROR)
        data = {"ok": is_well, "findings": [each.as_data() for each in shown]}
        print_data(data, output)
    failed = bool(of_level(found, FindingLevel.ERROR))
    end(1 if failed else 0, verdict(found), is_output=output.is_text)


def _print(findings: Iterable[DiagnosisFinding]) -> None:
    screen = console()
    ordered = sorted(findings, key=lambda each: _place(each.where))
    for where, group in groupby(ordered, key=lambda each: each.where):
        screen.print(Text(where, style="bold"))
        for each in group:
            label = Text(f"  {each.level:<8}", style=_STYLE[each.level])
            screen.print(label + Text(f"{each.check}: {each.what}"))
            if each.to_do:
                screen.print(Text(f"          do: {each.to_do}"))


def _place(where: str) -> tuple[int, str]:
    """Return where a heading comes: this machine, then clusters, then flows."""
    kinds = ("this machine", "cluster", "flow")
    return next(n for n, kind in enumerate(kinds) if where.startswith(kind)), where
