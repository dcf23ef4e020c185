"""``isthmus completion``: prints what a shell needs to complete commands, options and files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

VARIABLE = "_ISTHMUS_COMPLETE"  # by which the script asks, as Typer derives it from the name


class Shell(StrEnum):
    """A shell that completes."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a script that completes `isthmus` in a shell, to be loaded by it.

    bash: save it below ~/.local/share/bash-completion/completions/. zsh: as _isthmus in a folder
    of $fpath. fish: save it below ~/.config/fish/completions/.
    """
    script = get_completion_script(prog_name="isthmus", complete_var=VARIABLE, shell=shell.value)
    typer.echo(script)
