"""A file that is edited: what is in force, and what of it a later start knows."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
from support.settings.config_files import TWO

from replication.adapters.followed_file import SETTLED_S, FollowedFile
from replication.errors import ConfigError


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.properties"
    write(path, f"{TWO}lag.sla.seconds = 60\n")
    return path


@pytest.fixture
def followed(file, tmp_path):
    return FollowedFile(file, tmp_path / "state")


def write(path, text: str, age_s: float = SETTLED_S) -> None:
    """Write a file as an editor did ``age_s`` ago."""
    path.write_text(text)
    then = time.time() - age_s
    os.utime(path, (then, then))


def sla(followed: FollowedFile) -> float:
    return followed.look().config.flows[0].lag_sla / timedelta(seconds=1)


def test_an_edit_is_in_force_and_says_what_it_changed(file, followed):
    first = followed.look()
    assert followed.look() is first
    write(file, f"{TWO}lag.sla.seconds = 30\n")
    second = followed.look()
    assert second.changes == ("A->B: lag.sla.seconds: 60 → 30",)
    assert second.fingerprint != first.fingerprint
    assert sla(followed) == 30


def test_content_that_an_editor_is_still_writing_is_not_taken(file, followed, monkeypatch):
    followed.look()
    write(file, TWO, age_s=0)  # the first part of it
    assert sla(followed) == 60
    write(file, f"{TWO}lag.sla.seconds = 30\n", age_s=0)
    now = time.monotonic()
    assert sla(followed) == 60
    monkeypatch.setattr(time, "monotonic", lambda: now + SETTLED_S)
    assert sla(followed) == 60  # the first look at this content
    monkeypatch.setattr(time, "monotonic", lambda: now + 3 * SETTLED_S)
    assert sla(followed) == 30


@pytest.mark.parametrize("broken", ["lag.sla.secnds = 5\n", "A->B.topics = (\n", "x = \\uzz\n"])
def test_a_broken_edit_leaves_the_settings_in_force_and_names_line_and_fix(file, followed, broken):
    before = followed.look()
    write(file, TWO + broken)
    after = followed.look()
    assert after.config is before.config
    assert after.read_ms == before.read_ms
    assert f"{file}:5: " in after.problem
    write(file, f"{TWO}lag.sla.seconds = 60\n")
    assert followed.look().problem == ""


def test_a_file_that_is_gone_leaves_the_settings_in_force(file, followed, monkeypatch):
    before, now = followed.look(), time.monotonic()
    file.unlink()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert followed.look() is before
    monkeypatch.setattr(time, "monotonic", lambda: now + SETTLED_S)
    after = followed.look()
    assert after.problem == f"reading {file}: No such file or directory"
    assert after.config is before.config


def test_a_start_with_a_broken_file_has_the_settings_of_before(file, followed, tmp_path):
    before = followed.look()
    write(file, f"{TWO}lag.sla.secnds = 5\n")
    later = FollowedFile(file, tmp_path / "state").look()
    assert later.config.flows == before.config.flows
    assert later.read_ms == before.read_ms
    assert f"{file}:5: lag.sla.secnds" in later.problem
    with pytest.raises(ConfigError, match=r"lag\.sla\.secnds"):
        FollowedFile(file, tmp_path / "other").look()


def test_a_first_edit_after_a_start_is_compared_with_what_was_kept(file, followed, tmp_path):
    followed.look()
    write(file, f"{TWO}lag.sla.seconds = 30\n")
    later = FollowedFile(file, tmp_path / "state").look()
    assert later.changes == ("A->B: lag.sla.seconds: 60 → 30",)


def test_a_policy_class_that_fails_is_a_problem_and_ends_nothing(file, followed, tmp_path):
    followed.look()
    (tmp_path / "mine_that_fails.py").write_text("raise OSError('no')\n")
    write(file, f"{TWO}replication.policy.class = python:mine_that_fails:Mine\n")
    assert "mine_that_fails" in followed.look().problem
