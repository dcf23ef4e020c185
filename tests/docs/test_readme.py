"""What the README's first screens say is so: each command is in its table, and no other one."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from orchestration.cli.main import app

README = (Path(__file__).parents[2] / "README.md").read_text()
_TABLE = README[README.index("| command | what it does |") :].partition("\n\n")[0]
_CELLS = [line.split(" | ")[0] for line in _TABLE.splitlines()[2:]]


def test_the_table_has_each_command_and_no_other():
    listed = {name for cell in _CELLS for name in re.findall(r"`([a-z]+)", cell)}
    groups = {"translate", "diff", "sync", "export", "import"}  # of `offsets`, beside `set`
    assert listed - groups == set(get_command(app).commands)
