"""Files on a disk that has no space left."""

from __future__ import annotations

import errno

import pytest
from support.full_disk import Disk

from replication.adapters.local.files import space_problem, write_whole


@pytest.fixture
def disk(tmp_path, monkeypatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


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
