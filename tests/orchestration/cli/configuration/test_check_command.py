import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from orchestration.cli.configuration.check import check

INPUTS = Path(__file__).parents[3] / "inputs"
TWO = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
app = typer.Typer()
app.command()(check)


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def written(folder, text):
    path = folder / "mm2.properties"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["active-active", "merge-minimal", "merge-full", "rename"])
def test_operators_files_pass(name):
    assert run(INPUTS / f"{name}.properties").exit_code == 0


def test_the_flows_their_settings_and_the_warnings_are_shown(tmp_path):
    result = run(written(tmp_path, TWO + "topics = x.*, y\nlinger.ms = 5\n"))
    for part in ("A->B", "a:9092", "A.t", "mm2.properties:5", "has no effect", "1 flow"):
        assert part in result.output.replace("\n", "")


def test_only_what_the_file_sets_is_shown_and_all_with_an_option(tmp_path):
    file = written(tmp_path, TWO + "topics = x\ntasks.max = 2\n")
    result = run(file)
    lines = result.output.splitlines()
    assert len(lines) < 25
    (row,) = [each.split() for each in lines if each.startswith("tasks.max")]
    assert row == ["tasks.max", "2", "mm2.properties:6"]
    (left,) = [each for each in lines if each.endswith("have their defaults: --all shows them")]
    everything = run(file, "--all").output.splitlines()
    shown = [each for each in everything if each.endswith(" default")]
    assert len(shown) == int(left.split()[0])


def test_errors_are_listed_without_a_traceback_and_the_exit_code_is_2(tmp_path):
    path = written(tmp_path, TWO + "task.max = 2\nA->B.enabled = yes\n")
    result = run(path)
    assert result.exit_code == 2
    assert f"{path}:5: task.max: unknown key → was tasks.max meant?" in result.output
    assert f"{path}:6: A->B.enabled: 'yes' is neither true nor false" in result.output
    assert "Traceback" not in result.output


def test_leniency_turns_unknown_keys_into_warnings(tmp_path):
    path = written(tmp_path, TWO + "task.max = 2\n")
    assert (run(path).exit_code, run(path, "--lenient").exit_code) == (2, 0)


def test_json_has_flows_settings_and_findings(tmp_path):
    path = written(tmp_path, TWO + "topics = x.*\nssl.key.password = hush\n")
    result = run(path, "-o", "json")
    document = json.loads(result.output)
    assert document["ok"] is True
    (flow,) = document["flows"]
    assert (flow["name"], flow["topics"], flow["names"]) == ("A->B", ["x.*"], "A.t")
    assert {"name": "topics", "value": "x.*", "origin": f"{path}:5"} in flow["settings"]
    assert "hush" not in result.output


def test_json_tells_errors_too(tmp_path):
    result = run(written(tmp_path, TWO + "task.max = 2\n"), "-o", "json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["ok"] is False
    (finding,) = [each for each in document["findings"] if each["severity"] == "error"]
    assert (finding["line"], finding["key"]) == (5, "task.max")


def test_a_missing_file_is_one_message(tmp_path):
    result = run(tmp_path / "none")
    assert result.exit_code == 2
    assert "No such file or directory" in result.output


def test_what_looks_like_markup_is_shown_as_it_is(tmp_path):
    result = run(written(tmp_path, TWO + "topics = [bold]x\n"))
    assert "[bold]x" in result.output


def test_addresses_stay_whole_at_80_columns(tmp_path, monkeypatch):
    path = written(tmp_path, TWO.replace("a:9092", "127.0.0.1:34567, 127.0.0.1:34568"))
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(path).output
    assert "127.0.0.1:34567" in shown
    assert "127.0.0.1:34568" in shown


@pytest.mark.parametrize(
    "line",
    [
        "replication.policy.class org.apache.kafka.connect.mirror.DefaultReplicationPolicy default",
        "copy.buffer.bytes 64MiB default",
        "lag.sla.seconds 60 default",
        "copy.anchor.interval.ms 1000 default",
        r"topics orders\\d+ mm2.properties:5",
        "producer.override.request.timeout.ms 5000 mm2.properties:6",
        "isthmus.topics.replication.factor 2 mm2.properties:7",
    ],
)
def test_each_setting_is_shown_as_a_line_of_the_file_sets_it(tmp_path, line):
    own = "B.producer.request.timeout.ms = 5000\noffsets.topic.replication.factor = 2\n"
    result = run(written(tmp_path, TWO + "topics = orders\\\\d+\n" + own), "--all")
    assert line in [" ".join(each.split()) for each in result.output.splitlines()]


def test_an_url_by_which_no_alert_can_be_posted_is_an_error_at_its_line_without_its_secret(
    tmp_path,
):
    alerts = "alert.urls = json://example.org/x, jsn://hush\nalert.webhook.url = ftp://x/hush\n"
    path = written(tmp_path, f"{TWO}topics = x\n{alerts}")
    result = run(path)
    assert result.exit_code == 2
    text = result.output.replace("\n", "")
    assert f"{path}:6: alert.urls: URL 2 of 2 begins with jsn:// and is none that Apprise" in text
    assert f"{path}:7: alert.webhook.url: has the scheme 'ftp', which is not supported" in text
    document = run(path, "-o", "json")
    findings = json.loads(document.stdout)["findings"]
    assert [each["line"] for each in findings if each["severity"] == "error"] == [6, 7]
    assert "hush" not in f"{text}{document.output}"
