"""``isthmus set``: what it writes, refuses and shows."""

from __future__ import annotations

import re
import stat

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO
from typer.testing import CliRunner

from orchestration.cli.main import app


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.properties"
    path.write_text(f"# mine\n{TWO}topics = orders\n")
    path.chmod(0o640)
    return path


def run(*arguments, given: str | None = None):
    return CliRunner().invoke(app, ["set", *map(str, arguments)], input=given)


def test_it_sets_a_key_shows_the_difference_and_keeps_the_rest(file):
    link = file.with_name("link")
    link.symlink_to(file)
    result = run(link, "topics", r"orders, evt\d+")
    assert result.exit_code == 0, result.output
    assert r"A->B: topics: orders → orders, evt\d+" in result.output
    assert file.read_text() == f"# mine\n{TWO}topics = orders, evt\\\\d+\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert [each.name for each in file.parent.iterdir()].count("f.properties") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("lag.sla.secnds", "5"), "unknown key"),
        (("topics", "("), "topics"),
        (("A.sasl.jaas.config", "word"), "standard input"),
        (("topics",), "give a value, or --remove"),
        (("topics", "x", "--remove"), "give a value, or --remove"),
    ],
)
def test_what_check_refuses_is_refused_and_nothing_changes(file, arguments, says):
    before = file.read_bytes()
    result = run(file, *arguments)
    assert result.exit_code != 0
    assert says in f"{result.output}{result.exception}"
    assert file.read_bytes() == before


def refused(file, *arguments) -> list[str]:
    before = file.read_bytes()
    message = str(run(file, *arguments).exception)
    assert file.read_bytes() == before
    return message.splitlines()


def test_an_unknown_key_is_named_as_it_was_given_with_the_known_ones_that_are_nearest(file):
    (message, end) = refused(file, "lag.sla.secnds", "5")
    assert message == (
        "lag.sla.secnds: unknown key → set one of the nearest: lag.sla.seconds, lag.sla.records, "
        "lag.sla.ms; all keys are in docs/configuration.md"
    )
    assert end == f"nothing was changed in {file}"
    (message, _) = refused(file, "A->B.task.max", "5")
    assert message.startswith("A->B.task.max: unknown key → set one of the nearest: A->B.tasks.max")
    (message, _) = refused(file, "xyzzy", "5")
    assert message == "xyzzy: unknown key → all keys are in docs/configuration.md"


@pytest.mark.parametrize(
    "key",
    ["lag.sla.secnds", "A->B.task.max", "copy.bufer", "topic.blacklist", "lag.limit", "xyzzy"],
)
def test_check_and_set_name_the_same_key_for_an_unknown_one(file, key):
    (message, _) = refused(file, key, "5")
    named = re.search(r"nearest: ([^,;]+)", message)
    file.write_text(f"{file.read_text()}{key} = 5\n")
    checked = run_command("check", file).out
    meant = re.search(rf"{key}: unknown key → was (\S+) meant", checked)
    assert "unknown key" in checked
    assert (named and named[1]) == (meant and meant[1])


def test_a_wrong_value_is_refused_without_a_line_that_the_file_does_not_have(file):
    assert refused(file, "A.bootstrap.servers", "localhost") == [
        "A.bootstrap.servers: 'localhost' has no port: write localhost:9092",
        f"nothing was changed in {file}",
    ]


def test_what_else_is_wrong_has_the_lines_of_the_file_that_is_there(file):
    file.write_text(f"topics = a, \\\n b, \\\n c\n{TWO}lag.sla.seconds = no\n")
    line = 1 + file.read_text().splitlines().index("lag.sla.seconds = no")
    (own, rest, other, end) = refused(file, "topics", "(")
    assert own.startswith("topics: ")
    assert rest == "other problems of the file as it would be:"
    assert other.startswith(f"{file}:{line}: lag.sla.seconds: 'no' is not a duration")
    assert end == f"nothing was changed in {file}"


def test_a_removed_key_and_a_dry_run(file):
    result = run(file, "topics", "--remove", "--dry-run")
    assert "A->B: topics: orders → .*" in result.output
    assert "topics" in file.read_text()
    assert run(file, "topics", "--remove").exit_code == 0
    assert file.read_text() == f"# mine\n{TWO}"


def test_a_secret_comes_from_standard_input_and_is_not_shown(file):
    file.write_text(f"{TWO}metrics.port = 0\nmetrics.user = me\nmetrics.password = x\n")
    result = run(file, "metrics.password", "-", given="hush\n")
    assert "hush" not in result.output
    assert "metrics.password = hush\n" in file.read_text()


def test_a_file_that_is_not_utf_8_keeps_its_encoding(file):
    file.write_bytes(f"# für\n{TWO}".encode("iso-8859-1"))
    assert run(file, "lag.sla.seconds", "5").exit_code == 0
    assert file.read_bytes().startswith("# für\n".encode("iso-8859-1"))


def test_an_url_of_alerts_that_is_of_no_use_is_refused_and_keeps_no_other_key_from_being_set(file):
    result = run(file, "alert.urls", "-", given="jsn://hush\n")
    assert result.exit_code != 0
    assert "alert.urls: URL 1 of 1 begins with jsn://" in str(result.exception)
    assert "hush" not in f"{result.output}{result.exception}"
    assert "jsn" not in file.read_text()
    file.write_text(f"{file.read_text()}alert.urls = jsn://hush\n")
    assert run(file, "topics", "orders, users").exit_code == 0
    assert "orders, users" in file.read_text()


def test_of_two_wrong_urls_one_can_be_corrected_after_the_other(file):
    file.write_text(f"{TWO}alert.urls = jsn://hush\nalert.webhook.url = ftp://hush\n")
    assert run(file, "alert.runbooks.url", "https://wiki.example").exit_code == 0
    assert run(file, "alert.webhook.url", "https://alerts.example/isthmus").exit_code == 0
    assert run(file, "alert.urls", "--remove").exit_code == 0
    assert "jsn" not in file.read_text()
