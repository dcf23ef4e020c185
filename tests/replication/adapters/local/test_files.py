"""Files of the state directory: private, whole, and on a disk that may have no space left."""

from __future__ import annotations

import errno
import os
import stat

import pytest
from support.fakes.full_disk import Disk

from replication.adapters.local.files import (
    make_private,
    open_private,
    shorten_log,
    space_problem,
    write_whole,
)
from replication.errors import EnvironmentProblem


@pytest.fixture
def disk(tmp_path, monkeypatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


@pytest.fixture
def open_umask():
    """Let whatever is created be as open as its creator says."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_what_is_created_is_this_users_alone(tmp_path):
    directory = tmp_path / "parent" / "state"
    assert make_private(directory, directory / "apps") == ()
    write_whole(directory / "plan.json", "{}")
    with open_private(directory / "driver.log", "ab") as log:
        log.write(b"line")
    made = {each.name: mode(each) for each in (directory, *directory.iterdir())}
    assert made == {"state": 0o700, "apps": 0o700, "plan.json": 0o600, "driver.log": 0o600}
    assert make_private(directory, directory / "apps") == (), "a second time changes nothing"


def test_a_directory_that_was_open_to_others_is_closed_and_that_is_said(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps").chmod(0o2770)
    apps = tmp_path / "apps"
    assert make_private(tmp_path, apps) == (
        f"directory {tmp_path} was open to other users (mode 0755); now it is not (mode 0700)",
        f"directory {apps} was open to other users (mode 2770); now it is not (mode 0700)",
    )
    assert (mode(tmp_path), mode(apps) & 0o777) == (0o700, 0o700)


def test_a_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    me = os.geteuid() or 4321
    os.chown(theirs, os.geteuid() or 4322, -1)
    if me == os.geteuid():  # only root can give a directory away
        me += 1
    monkeypatch.setattr(os, "geteuid", lambda: me)
    with pytest.raises(EnvironmentProblem) as error:
        make_private(theirs)
    assert str(error.value) == (
        f"directory {theirs} belongs to user {theirs.stat().st_uid}, who could replace what is in "
        f"it: use another directory, or make user {me} its owner"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a directory of root's")
def test_a_volume_that_belongs_to_root_is_left_as_the_container_mounted_it(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert make_private(tmp_path) == ()
    assert mode(tmp_path) == 0o777


def test_a_file_in_the_place_of_a_directory_is_no_directory(tmp_path):
    (tmp_path / "state").write_text("")
    for directory in (tmp_path / "state", tmp_path / "state" / "apps"):
        with pytest.raises(NotADirectoryError):
            make_private(directory)


def test_no_link_that_was_laid_in_advance_is_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    state = tmp_path / "state"
    state.mkdir()
    for name in (f"plan.json.{os.getpid()}.new", f"probe.{os.getpid()}.new"):
        (state / name).symlink_to(victim)
    write_whole(state / "plan.json", "{}")
    assert space_problem(state) == ""
    assert victim.read_text() == "kept"
    assert (state / "plan.json").read_text() == "{}"


def test_a_file_that_others_could_read_is_private_once_it_is_replaced(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text("before")
    file.chmod(0o644)
    write_whole(file, "after")
    assert (mode(file), file.read_text()) == (0o600, "after")


def test_bl_236_a_file_that_a_full_disk_does_not_take_stays_as_it_was(tmp_path, disk):
    write_whole(tmp_path / "watcher.pid", "before")
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "watcher.pid", "after")
    assert [each.name for each in tmp_path.iterdir()] == ["watcher.pid"], "no half of a file"
    assert (tmp_path / "watcher.pid").read_text() == "before"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        pytest.param(
            errno.ENOSPC,
            "no space in {}: free some there, and copying continues by itself",
            id="bytes or inodes",
        ),
        pytest.param(
            errno.EDQUOT,
            "no space in {}: free some there, and copying continues by itself",
            id="quota",
        ),
        pytest.param(errno.EROFS, "{} cannot be written: Read-only file system", id="read-only"),
    ],
)
def test_bl_236_why_a_directory_takes_no_file_is_one_line(tmp_path, disk, problem, reason):
    assert space_problem(tmp_path) == ""
    disk.fill(problem)
    assert space_problem(tmp_path) == reason.format(tmp_path)
    disk.free()
    assert space_problem(tmp_path) == ""
    assert not list(tmp_path.iterdir())


def test_bl_236_a_log_that_cannot_be_moved_aside_leaves_no_half_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("replication.adapters.local.files._LOG_BYTES", 10)
    log = tmp_path / "driver.log"
    log.write_text("a line of a log")
    disk = Disk(tmp_path, monkeypatch)
    disk.fill()
    shorten_log(log)
    assert [each.name for each in tmp_path.iterdir()] == ["driver.log"]
    disk.free()
    shorten_log(log)
    assert (log.read_text(), log.with_suffix(".log.1").read_text()) == ("", "a line of a log")
