"""Where a diverged tail is written, and what is said where it cannot be."""

from __future__ import annotations

import pytest
from support.settings.configs import a_config, a_flow

from orchestration.failback.tail_export import export_tail, new_export_folder
from replication.errors import ReplicationError
from replication.model import OffsetRange, TopicPartition
from replication.recovery.diverged_tail import TailOffsets

TAIL = {TopicPartition("t", 0): TailOffsets([OffsetRange(3, 5)], 5)}


def test_without_a_tail_nothing_is_started(tmp_path):
    nothing = {TopicPartition("t", 0): TailOffsets([], 5)}
    done = export_tail(a_config(a_flow()), a_flow(), nothing, str(tmp_path / "x"))
    assert done == "there is nothing to export"
    assert not (tmp_path / "x").exists()


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReplicationError, match="name another directory"):
        export_tail(a_config(a_flow()), a_flow(), TAIL, str(tmp_path / "file" / "x"))


def test_why_the_job_failed_is_said_and_others_cannot_read_the_directory(tmp_path):
    folder = new_export_folder(tmp_path, "A->B")
    with pytest.raises(ReplicationError, match=f"the records were not exported to {folder}: "):
        export_tail(a_config(a_flow()), a_flow(), TAIL, str(folder))  # the file does not exist
    assert folder.stat().st_mode & 0o777 == 0o700
