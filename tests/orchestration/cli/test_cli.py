"""The command line: its help, and one message for an error."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys

import pytest
from support.flows.command import runner

from orchestration.cli.flows.table import duration
from orchestration.cli.main import VERBS, exit_code
from replication.errors import ClusterUnavailable, ConfigError

CONFIG = """
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
A->B.topics = orders
"""


@pytest.fixture
def isthmus(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    return runner(monkeypatch, capsys)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "flows.properties"
    file.write_text(CONFIG)
    return file


def test_help_is_fast_lists_every_verb_and_imports_none_of_their_libraries():
    before = spent_by_children_s()
    code = "import sys; sys.argv = ['isthmus', '--help']; from orchestration.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print([m for m in ('dagster', 'confluent_kafka', 'pyspark') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(f" {name} " in done.stdout for name in VERBS)
    assert spent_by_children_s() - before < 2, "an import at module level has crept in"


def test_a_verb_that_does_not_exist_suggests_one_that_does(isthmus):
    done = isthmus("stauts")
    assert done.code == 2
    assert "Did you mean 'status'" in done.err


def test_a_file_that_is_not_there_is_one_message_and_exit_code_2(tmp_path):
    """As a shell sees it: in a process of its own."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "orchestration.cli.main",
            "status",
            str(tmp_path / "none.properties"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "none.properties" in done.stderr
    assert "Traceback" not in done.stderr


def test_closed_ports_are_reported_in_the_status_and_its_exit_code(isthmus, config):
    done = isthmus("status", config, "-o", "json")
    found = json.loads(done.out)
    assert (done.code, found["healthy"]) == (1, False)
    (flow,) = found["flows"]
    assert flow["state"] == "UNKNOWN"
    refused = "connecting to 127.0.0.1:{}: Connection refused"
    assert flow["reason"] == (
        f"target cluster B did not answer ({refused.format(2)}); "
        f"source cluster A did not answer ({refused.format(1)})"
    )
    assert done.err.startswith("1 of 1 flow not healthy: A->B is UNKNOWN: target cluster B did ")


def test_a_plan_of_clusters_that_do_not_answer_says_that_nothing_is_known(isthmus, config):
    done = isthmus("plan", config)
    assert done.code == 1
    a, b = (
        f"cluster {name} does not answer: connecting to 127.0.0.1:{port}: Connection refused"
        for name, port in (("A", 1), ("B", 2))
    )
    assert done.err == f"error: {a}\nerror: {b}\n"
    assert done.out == f"the plan for B is incomplete: {a}; {b}\n"


def test_a_state_directory_that_cannot_be_made_is_one_message(isthmus, config, tmp_path):
    (tmp_path / "home").write_text("in the way")
    done = isthmus("run", config)
    assert done.code == 1
    assert done.err.startswith(f"error: writing state directory {tmp_path / 'home'}: ")


def test_a_port_that_is_in_use_is_one_message(isthmus, config):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = isthmus("run", config, "--port", port)
    assert done.code == 1
    problem = f"port {port} for Dagster's UI is in use"
    to_do = "stop the program that uses it, or choose another port with --port"
    assert done.err == f"error: {problem}: {to_do}\n"


def test_an_unknown_flow_names_those_that_exist(isthmus, config):
    done = isthmus("pause", config, "--flow", "A->C")
    assert done.code == 2
    assert done.err == f"error: {config}: no flow 'A->C'; there is A->B\n"


def test_only_what_a_person_must_fix_exits_with_2():
    assert exit_code(ConfigError("x")) == 2
    assert exit_code(ClusterUnavailable("x")) == 1


def spent_by_children_s() -> float:
    """Return the CPU time of children that have ended: a busy machine adds nothing to it."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (185, "3 min 05 s"),
        (7630, "2 h 07 min"),
        (5 * 86400 + 3 * 3600, "5 d 03 h"),
    ],
)
def test_spans_are_shown_as_people_read_them(seconds, shown):
    assert duration(seconds) == shown
