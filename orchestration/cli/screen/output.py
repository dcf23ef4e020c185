"""The output formats of commands: text for people, JSON and YAML for programs."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer


class Output(StrEnum):
    """The value of ``-o``."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_text(self) -> bool:
        return self is Output.TEXT


Format = Annotated[Output, typer.Option("--output", "-o", help="Output format.")]


def print_data(data: Any, output: str) -> None:
    """Print plain data as JSON or YAML on stdout; keys keep their order."""
    if output == Output.YAML:
        import yaml  # noqa: PLC0415 - 30 ms, and seldom asked for

        text = yaml.safe_dump(_plain(data), sort_keys=False, allow_unicode=True, width=1000)
        typer.echo(text, nl=False)
    else:
        typer.echo(json.dumps(data, indent=2))


def _plain(data: Any) -> Any:
    """Return the same data of JSON's types: YAML would show what they were derived from."""
    return json.loads(json.dumps(data))
