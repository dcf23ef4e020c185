"""The command ``init``: it writes a file that ``check`` accepts, or says what is wrong."""

from __future__ import annotations

import os

import pytest
from support.flows.command import runner

GIVEN = ("--source", "east=east-1:9092", "--target", "west=west-1:9092")


@pytest.fixture
def isthmus(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capsys)


def test_a_file_from_options_alone_passes_check(isthmus, tmp_path):
    done = isthmus("init", *GIVEN, "--topics", "orders")
    assert done.code == 0
    assert done.out.splitlines() == [
        "isthmus.properties is written. Next:",
        "  isthmus doctor isthmus.properties",
        "  isthmus run isthmus.properties",
    ]
    assert isthmus("check", "isthmus.properties").code == 0
    assert "east->west.topics = orders\n" in (tmp_path / "isthmus.properties").read_text()


def test_a_file_that_exists_is_kept(isthmus, tmp_path):
    file = tmp_path / "isthmus.properties"
    file.write_text("mine")
    assert isthmus("init", *GIVEN).code == 2
    assert file.read_text() == "mine"
    assert isthmus("init", *GIVEN, "--force").code == 0
    assert file.read_text() != "mine"


def test_what_is_missing_is_named_where_nobody_can_be_asked(isthmus):
    done = isthmus("init", "--source", "east-1:9092")
    assert (done.code, done.err) == (
        2,
        "error: --target is missing, and there is no terminal to ask on\n",
    )


def test_an_address_that_is_none_is_refused_and_nothing_is_written(isthmus, tmp_path):
    done = isthmus("init", "--source", "east", "--target", "west-1:9092")
    assert done.code == 2
    assert "source.bootstrap.servers: 'east' has no port: write east:9092" in done.err
    assert list(tmp_path.iterdir()) == []


def test_passwords_are_to_be_set_in_the_environment(isthmus):
    done = isthmus("init", *GIVEN, "--security", "SASL_SSL", "--user", "mirror")
    assert done.code == 0
    assert "  export EAST_PASSWORD=…" in done.out.splitlines()
    assert "EAST_PASSWORD" not in os.environ
