"""Every command: its help has examples that it accepts, and the page names its exit codes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from orchestration.cli.main import VERBS, _load
from orchestration.cli.screen.examples import EXAMPLES

PAGE = Path(__file__).parents[3] / "docs" / "command.md"


def leaves(command, words):
    """Yield each command that can be run, with the words that call it."""
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        yield words, command
        return
    for name, each in subcommands.items():
        yield from leaves(each, f"{words} {name}")


COMMANDS = dict(leaf for name in VERBS for leaf in leaves(_load(name), name))


def rows():
    """Return the page's table of exit codes: the codes of each command."""
    text = PAGE.read_text().partition("## Exit codes")[2]
    found = re.findall(r"^\| `([^|]+)` \| ([0-9, ]+) \|", text, re.MULTILINE)
    return {
        name: codes.split(", ")
        for names, codes in found
        for name in names.replace("`", "").split(", ")
    }


def test_every_command_has_examples_and_no_example_is_of_another():
    assert sorted(EXAMPLES) == sorted(COMMANDS)


@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_help_ends_with_examples_that_the_command_accepts(words):
    command = COMMANDS[words]
    assert command.epilog.startswith("Examples:\n\n  isthmus ")
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    for example in EXAMPLES[words]:
        first, *rest = shlex.split(re.split(r" [|>] ", example)[0])
        assert first == "isthmus"
        assert " ".join(rest).startswith(words)
        assert {each for each in rest if re.match(r"-+[a-z]", each, re.IGNORECASE)} <= known


def test_a_command_that_prints_json_prints_yaml_too():
    formats = {
        words: {form.value for form in each.type_descriptor.annotation}
        for words, command in COMMANDS.items()
        for each in command.params
        if "--output" in each.opts
    }
    assert "verify" in formats
    without = [words for words, known in formats.items() if {"json", "yaml"} & known == {"json"}]
    assert without == ["offsets export"]  # of a file, which `offsets import` reads


def test_the_page_lists_the_exit_codes_of_every_command():
    found = rows()
    assert sorted(found) == sorted(COMMANDS)
    for words, codes in found.items():
        assert codes[0] == "0", words
        for code in re.findall(r"\b[Ee]xit code (\d)", COMMANDS[words].help or ""):
            assert code in codes, f"{words}: its help names exit code {code}"
