"""A command that fails says why on its last line, and names all clusters that do not answer."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from support.flows.command import runner
from support.network.broken_servers import a_closed_port, a_server, announces, closes, garbage

import orchestration.cli
from orchestration.cli.flows import resolve as losses_module

CONFIG = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:{source}
B.bootstrap.servers = 127.0.0.1:{target}
A->B.enabled = true
"""
CLI = Path(orchestration.cli.__file__).parent
BOTH = (
    "check FILE --clusters",
    "check FILE --clusters -o json",
    "plan FILE",
    "plan FILE -o json",
    "plan FILE --groups",
    "apply FILE",
    "apply FILE -o json",
    "topology FILE --topics",
    "topology FILE --topics -o json",
    "status FILE",
    "status FILE -o json",
    "compare FILE",
    "compare FILE -o json",
    "offsets translate FILE -f A->B --topic orders --offset 1",
    "offsets diff FILE",
    "offsets sync FILE",
    "offsets set FILE -f A->B --group g",
    "offsets export FILE",
    "takeover --from-mm2 FILE",
    "handback --to-mm2 FILE",
)
TARGETS = (
    "pause FILE",
    "resume FILE",
    "stop FILE",
    "resolve FILE",
    "losses FILE -o json",
    "heartbeats FILE",
)


@pytest.fixture
def isthmus(monkeypatch, capsys, tmp_path):
    run = runner(monkeypatch, capsys)

    def ended(line: str, file: Path):
        monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
        return run(*(file if word == "FILE" else word for word in line.split()))

    return ended


@pytest.fixture
def written(tmp_path):
    def write(source: int, target: int) -> Path:
        file = tmp_path / "mm2.properties"
        file.write_text(CONFIG.format(source=source, target=target))
        return file

    return write


@pytest.mark.parametrize("line", BOTH)
def test_all_clusters_that_do_not_answer_are_named_at_once(isthmus, written, line):
    with a_server(garbage) as source:
        file, since = written(source, target := a_closed_port()), time.monotonic()
        ended = isthmus(line, file)
    assert time.monotonic() - since < 18  # librdkafka would repeat it for 10 s a cluster
    assert ended.code in {1, 2}
    for port, reason in ((source, "the answer is not Kafka's"), (target, "Connection refused")):
        assert f"connecting to 127.0.0.1:{port}: " in ended.out + ended.err
        assert reason in ended.out + ended.err
    assert f"127.0.0.1:{target}" in ended.lines[-1]


@pytest.mark.parametrize("line", TARGETS)
def test_a_command_that_needs_targets_alone_names_those(isthmus, written, line):
    with a_server(closes) as target:
        ended = isthmus(line, written(a_closed_port(), target))
    assert ended.code == 1
    assert "cluster B does not answer: connecting to " in ended.lines[-1]


def test_a_frame_of_2_gb_is_named_and_not_read(isthmus, written):
    with a_server(announces(2**31 - 1)) as source, a_server(closes) as target:
        ended = isthmus("plan FILE", written(source, target))
    assert ended.code == 1
    assert "cluster A does not answer" in ended.err
    assert "cluster B does not answer" in ended.err
    assert ended.out.startswith("the plan for B is incomplete: cluster A does not answer")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "error: no command was given"),
        ("stauts FILE", "error: No such command 'stauts'. Did you mean 'status', 'restart'?"),
        ("status", "error: Missing argument 'file'."),
        ("plan FILE --flwo x", "error: No such option: --flwo (Possible options: --flow)"),
        ("plan FILE -f A->C", "no flow 'A->C'; there is A->B"),
        (
            "resolve FILE bogus",
            "resolve: no choice 'bogus'; there is accept, continue, keep, reseed, skip",
        ),
        ("demo cpy", "isthmus: no scenario 'cpy'; "),
        ("check /nowhere", "reading /nowhere: No such file or directory"),
        ("check /nowhere -o json", "reading /nowhere: No such file or directory"),
    ],
)
def test_the_last_line_of_a_command_that_is_refused_is_the_reason(isthmus, written, line, reason):
    ended = isthmus(line, written(1, 2))
    assert ended.code == 2
    assert reason in ended.lines[-1]


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_file_with_errors_ends_with_the_first_of_them(isthmus, tmp_path, output):
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIG.format(source=1, target=2) + "task.max = 2\n")
    ended = isthmus(f"check FILE -o {output}", file)
    assert ended.code == 2
    assert (
        f"{file} is invalid: 1 error, 0 warnings; the first: {file}:5: task.max" in ended.lines[-1]
    )


def test_an_interrupted_command_says_so(isthmus, written, monkeypatch):
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(losses_module, "read_config", interrupt)
    ended = isthmus("losses FILE", written(1, 2))
    assert (ended.code, ended.lines[-1]) == (130, "error: interrupted")


def test_commands_end_at_one_place_which_prints_the_reason():
    found = [
        f"{file.relative_to(CLI)}:{node.lineno}"
        for file in CLI.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"typer.Exit", "sys.exit"}
    ]
    assert sorted(each.partition(":")[0] for each in found) == ["main.py", "screen/errors.py"]
