"""Each command that a message tells to run names its file: ``FILE``, which the screen replaces."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestration.cli.main import VERBS
from orchestration.cli.screen import given_file

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
WITHOUT_FILE = {"completion", "demo", "dev", "down", "init", "smoke"}
TOLD = re.compile(rf"\bisthmus ({'|'.join(sorted(VERBS.keys() - WITHOUT_FILE))})\b")
WHOLE = re.compile(
    r"isthmus(?: (?:--)?[a-z][a-z0-9-]*)+ (?:FILE\b|\{in_shell|\S+\.properties|--from-mm2 FILE)"
)
# Who does something, and what is named after it: nobody is told to run these.
NAMED = {
    "orchestration/cli/configuration/acls.py": {"isthmus drill"},
    "orchestration/cli/flows/alert.py": {"isthmus alert"},
    "orchestration/cli/local/batch.py": {"isthmus run"},
    "orchestration/cli/positions/group_offsets.py": {"isthmus offsets"},
    "replication/planning/required_acls.py": {"isthmus compare"},
    "replication/recovery/drill_acls.py": {"isthmus drill"},
    "replication/settings/file_settings.py": {"isthmus verify"},
    "replication/settings/mm2_settings.py": {"isthmus takeover"},
    "spark_jobs/history/file_backfill.py": {"isthmus backfill"},  # names of Spark applications
    "spark_jobs/verification/transformed_job.py": {"isthmus verify"},
    "spark_jobs/verification/verification_job.py": {"isthmus verify"},
}


def told(text: str) -> Iterator[str]:
    """Yield the commands in ``text`` that lack their file."""
    for found in TOLD.finditer(text):
        if not WHOLE.match(text, found.start()):
            yield found[0]


def messages(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module but its docstrings, a template as one."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in docstrings | parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield ast.unparse(node)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `isthmus logs`", ["isthmus logs"]),
        ("isthmus verify", ["isthmus verify"]),
        ("see isthmus status FILE and isthmus resolve", ["isthmus resolve"]),
        ("isthmus offsets sync FILE", []),
        ("isthmus takeover --from-mm2 FILE", []),
        ("stop it with `isthmus down`", []),
        ("isthmus plan mm2.properties", []),
    ],
)
def test_a_command_without_its_file_is_noticed(text, found):
    assert list(told(text)) == found


@pytest.mark.parametrize("package", ["orchestration", "spark_jobs", "replication"])
def test_the_screen_puts_the_path_into_no_sentence(package):
    """In "isthmus is told FILE" too a path would come: what follows must be a command."""
    found = {
        place[0]
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in messages(ast.parse(path.read_text()))
        for place in given_file.COMMAND.finditer(text)
        if place[0].split()[1] not in VERBS
    }
    assert found == set()


@pytest.mark.parametrize("package", ["orchestration", "spark_jobs", "replication"])
def test_a_message_names_the_file_of_each_command_that_it_tells_to_run(package):
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        lacking = {each for text in messages(ast.parse(path.read_text())) for each in told(text)}
        name = str(path.relative_to(ROOT))
        if name != "orchestration/cli/main.py" and lacking - NAMED.get(name, set()):
            found[name] = lacking - NAMED.get(name, set())
    assert found == {}
