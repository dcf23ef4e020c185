"""The command ``doctor``, where no cluster answers."""

from __future__ import annotations

import json

import pytest
import yaml
from support.flows.command import runner
from support.network.broken_servers import a_closed_port, a_server, garbage


@pytest.fixture
def isthmus(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("orchestration.diagnosis.machine.java", lambda: "/usr/bin/java")
    return runner(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path):
    """Yield a file with one cluster that refuses, and one that is a web server."""
    with a_server(garbage) as port:
        path = tmp_path / "flows.properties"
        path.write_text(
            f"clusters = A, B\nA.bootstrap.servers = 127.0.0.1:{a_closed_port()}\n"
            f"B.bootstrap.servers = 127.0.0.1:{port}\nA->B.enabled = true\n"
        )
        yield path


def test_each_problem_has_what_to_do_below_it_and_the_last_line_counts_them(isthmus, file):
    done = isthmus("doctor", file, "--problems")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == "cluster A"
    assert lines[1].startswith("  error   port: 127.0.0.1:")
    assert lines[1].endswith(": Connection refused")
    assert lines[2] == (
        "          do: start the broker, or correct port, firewall, or security.protocol"
    )
    assert lines[3] == "cluster B"
    assert "the answer is not Kafka's" in lines[4]
    assert lines[-1].startswith("2 errors, 0 warnings; the first: cluster A: 127.0.0.1:")


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_the_same_findings(isthmus, file, form, read):
    done = isthmus("doctor", file, "-o", form)
    found = read(done.out)
    assert (done.code, found["ok"]) == (1, False)
    errors = [each for each in found["findings"] if each["level"] == "error"]
    assert [each["where"] for each in errors] == ["cluster A", "cluster B"]
    assert found["findings"][0].keys() == {"level", "where", "check", "what", "to_do"}
    assert done.err.startswith("2 errors")


def test_a_file_that_is_wrong_is_code_2(isthmus, tmp_path):
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("clusters = A\n")
    assert isthmus("doctor", wrong).code == 2
