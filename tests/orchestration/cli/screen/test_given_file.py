"""A command that is printed can be pasted: it has the path that this command was called with."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text
from support.flows.command import runner
from support.network.broken_servers import a_closed_port

from orchestration.cli.screen import given_file
from orchestration.cli.screen.console import console, styled_with_file
from orchestration.cli.screen.given_file import keep_file, with_file
from orchestration.cli.screen.output import print_data
from orchestration.cli.screen.text_table import Column, TextTable

CONFIG = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:{source}
B.bootstrap.servers = 127.0.0.1:{target}
A->B.enabled = true
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(given_file._Called, "file", None)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("see `isthmus logs FILE`; `isthmus run FILE` restarts it",
         "see `isthmus logs mm2.properties`; `isthmus run mm2.properties` restarts it"),
        ("isthmus resume FILE --flow A:B", "isthmus resume mm2.properties --flow A:B"),
        ("isthmus offsets sync FILE", "isthmus offsets sync mm2.properties"),
        ("isthmus takeover --from-mm2 FILE", "isthmus takeover --from-mm2 mm2.properties"),
        ("`isthmus down` stops it; FILE is kept", "`isthmus down` stops it; FILE is kept"),
        ("isthmus run FILES", "isthmus run FILES"),
    ],
)  # fmt: skip
def test_the_commands_of_a_text_name_the_file_and_nothing_else_does(said, shown):
    keep_file(Path("mm2.properties"))
    assert with_file(said) == shown


def test_a_path_that_a_shell_would_split_is_quoted():
    keep_file(Path("my files/it's.properties"))
    assert with_file("isthmus run FILE") == """isthmus run 'my files/it'"'"'s.properties'"""


def test_without_a_file_the_text_keeps_the_word_of_the_help():
    assert with_file("isthmus run FILE") == "isthmus run FILE"


def test_a_styled_text_keeps_its_styles():
    keep_file(Path("mm2.properties"))
    said = Text("isthmus run FILE now", style="dim")
    said.stylize("bold", 17, 20)
    shown = styled_with_file(said)
    assert shown.plain == "isthmus run mm2.properties now"
    assert [(each.start, each.end) for each in shown.spans if each.style == "bold"] == [(27, 30)]
    assert shown.style == "dim"


def test_a_path_has_the_styles_of_the_word_that_it_replaces():
    keep_file(Path("mm2.properties"))
    said = Text.assemble("see ", ("isthmus run FILE", "red"), (" now", "bold"))
    said.stylize("dim", 8, 18)  # ends in the word
    shown = styled_with_file(said)
    styles = [
        {str(each.style) for each in shown.spans if each.start <= at < each.end}
        for at in range(len(shown))
    ]
    begin, end = shown.plain.index("mm2"), shown.plain.index(" now")
    assert styles[begin:end] == [{"red"}] * len("mm2.properties")
    assert styles[:4] == [set()] * 4
    assert styles[end:] == [{"bold"}] * 4


def test_a_table_is_aligned_by_what_it_shows(capsys):
    keep_file(Path("mm2.properties"))
    table = TextTable([Column("do"), Column("flow")])
    table.add("isthmus run FILE", "A->B")
    table.add("wait", "B->A")
    console().print(table)
    assert capsys.readouterr().out.splitlines() == [
        "do                          flow",
        "isthmus run mm2.properties  A->B",
        "wait                        B->A",
    ]


def test_the_reason_of_a_failed_command_names_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    file = tmp_path / "my clusters.properties"
    file.write_text(CONFIG.format(source=a_closed_port(), target=a_closed_port()))
    ended = runner(monkeypatch, capsys)("failover", file, "--flow", "A:B")
    assert ended.lines[-1].endswith(f"see isthmus doctor '{file}'")


def test_json_and_yaml_keep_the_word(capsys):
    keep_file(Path("mm2.properties"))
    for output in ("json", "yaml"):
        print_data({"reason": "isthmus run FILE"}, output)
        assert "isthmus run FILE" in capsys.readouterr().out
