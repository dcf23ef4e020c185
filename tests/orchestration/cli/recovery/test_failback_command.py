"""Who deletes topics is asked twice, the second time for their names."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from orchestration.cli.recovery.failback import _agree
from replication.errors import ConfigError

TOPICS = ["orders", "payments"]


def asked(typed: str) -> int:
    app = typer.Typer()
    app.command()(lambda: _agree(TOPICS, "A", may_ask=True))
    return CliRunner().invoke(app, input=typed).exit_code


@pytest.mark.parametrize("typed", ["orders payments\n", "payments, orders\n"])
def test_all_names_have_to_be_typed(typed):
    assert asked(typed) == 0


@pytest.mark.parametrize("typed", ["y\n", "orders\n", "orders payments more\n"])
def test_anything_else_changes_nothing(typed):
    assert asked(typed) == 1


def test_where_nobody_is_asked_the_names_are_options():
    with pytest.raises(ConfigError, match=r"--delete orders --delete payments$"):
        _agree(TOPICS, "A", may_ask=False)
