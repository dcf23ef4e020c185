"""A user id without a name or a home, as in a container that runs under an arbitrary id."""

from __future__ import annotations

import os
import pwd

import pytest

from replication.adapters.local import class_archive, user
from replication.adapters.local.class_archive import archive_path
from replication.adapters.local.kafka_jars import cache
from replication.errors import EnvironmentProblem

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME", "XDG_CACHE_HOME")


@pytest.fixture
def nobody_knows(monkeypatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("nobody_knows")
def test_bl_232_a_user_without_a_name_is_called_by_its_id():
    assert user.user_name() == str(os.getuid())
    assert not user.has_name()
    assert not user.has_home()


@pytest.mark.usefixtures("nobody_knows")
def test_bl_232_what_needs_a_home_says_so_in_one_line():
    with pytest.raises(EnvironmentProblem) as raised:
        cache()
    assert str(raised.value) == (
        f"the user {os.getuid()} has no home for Kafka's jars: set HOME or XDG_CACHE_HOME to a "
        "directory that it can write to"
    )


def test_a_user_with_a_name_has_it(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ann")
    assert user.user_name() == "ann"


def test_a_directory_is_writable_if_it_is_or_can_be_made(tmp_path):
    (tmp_path / "file").touch()
    assert user.is_writable(tmp_path)
    assert user.is_writable(tmp_path / "a" / "b")
    assert not user.is_writable(tmp_path / "file")
    assert not user.is_writable(tmp_path / "file" / "a")


@pytest.mark.parametrize("home", ["some.jar/home", "home"])
def test_bl_232_without_a_home_that_can_be_written_no_classes_are_kept(monkeypatch, home, tmp_path):
    (tmp_path / "some.jar").touch()
    monkeypatch.setattr(class_archive, "java", lambda: tmp_path / "some.jar")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home))
    assert (archive_path("spark", [tmp_path / "some.jar"]) is None) is (home != "home")
