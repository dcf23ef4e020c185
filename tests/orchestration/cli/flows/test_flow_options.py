"""How flows are named on the command line, and which are meant where none is named."""

from __future__ import annotations

import pytest
import typer
from support.flows.command import runner
from support.settings.configs import a_config, a_flow

from orchestration.cli.flows.flow_options import as_options, chosen_flows, flow_name
from replication.errors import ConfigError

PAIR = a_config(a_flow("A", "B"), a_flow("B", "A"))


@pytest.mark.parametrize("written", ["A->B", "A:B", " A -> B", "A : B"])
def test_a_flow_is_named_with_an_arrow_or_a_colon(written):
    assert flow_name(written) == "A->B"


def test_what_a_shell_leaves_of_an_unquoted_arrow_is_explained():
    with pytest.raises(typer.BadParameter) as refused:
        flow_name("east-")
    assert str(refused.value) == (
        "'east-' is not a flow: of an unquoted east->B the shell takes >B for a file, and has "
        "created it; write east:B, or 'east->B' in quotes"
    )


def test_of_several_flows_none_is_changed_unasked():
    with pytest.raises(ConfigError, match=r"has 2 flows: choose some with --flow \(A:B, B:A\), or"):
        chosen_flows(PAIR, None, all_=False)
    assert chosen_flows(PAIR, None, all_=True) == ["A->B", "B->A"]
    assert chosen_flows(PAIR, ["B->A"], all_=False) == ["B->A"]
    with pytest.raises(ConfigError, match="exclude each other"):
        chosen_flows(PAIR, ["B->A"], all_=True)


def test_a_files_only_flow_needs_no_name():
    assert chosen_flows(a_config(a_flow("A", "B")), None, all_=False) == ["A->B"]


def test_a_proposed_command_names_the_flows_that_were_looked_at():
    assert as_options(PAIR, None) == " --all"
    assert as_options(PAIR, ["A->B"]) == " --flow A:B"
    assert as_options(a_config(a_flow("A", "B")), None) == ""


@pytest.fixture
def isthmus(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


CHANGES = (
    "pause FILE",
    "resume FILE",
    "stop FILE",
    "restart FILE",
    "resolve FILE skip",
    "offsets sync FILE",
    "drill FILE --yes",
    "drill FILE -o json",
    "takeover --from-mm2 FILE --yes",
    "handback --to-mm2 FILE --yes",
)


@pytest.fixture
def pair(tmp_path):
    file = tmp_path / "f.properties"
    file.write_text(
        "clusters = A, B\nA.bootstrap.servers = 127.0.0.1:1\nB.bootstrap.servers = 127.0.0.1:2\n"
        "A->B.enabled = true\nB->A.enabled = true\n"
        "replication.policy.class = IdentityReplicationPolicy\n"
    )
    return file


@pytest.mark.parametrize("line", CHANGES)
def test_a_change_of_a_file_with_two_flows_needs_a_choice(isthmus, pair, line):
    words = [pair if word == "FILE" else word for word in line.split()]
    done = isthmus(*words)
    assert done.code == 2
    assert done.err == (
        f"error: {pair} has 2 flows: choose some with --flow (A:B, B:A), or all with --all\n"
    )
    done = isthmus(*words, "--flow", "A-")
    assert (done.code, "write A:B, or" in done.err) == (2, True)
    for chosen in (["--flow", "A:B"], ["--all"]):
        done = isthmus(*words, *chosen)
        assert (done.code, "cluster B does not answer" in done.err) == (1, True)


@pytest.mark.parametrize(
    "line",
    ["resolve FILE", "drill FILE --dry-run", "takeover --from-mm2 FILE", "handback --to-mm2 FILE"],
)
def test_what_is_only_shown_needs_no_choice(isthmus, pair, line):
    done = isthmus(*(pair if word == "FILE" else word for word in line.split()))
    assert (done.code, "cluster B does not answer" in done.err) == (1, True)
