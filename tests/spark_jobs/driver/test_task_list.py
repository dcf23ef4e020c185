"""The background tasks of a flow, by its settings."""

from __future__ import annotations

import pytest

from replication.adapters.group_syncs import GroupSyncs
from replication.config.load import load_config
from spark_jobs.driver.task_list import tasks_of

TWO = """
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""


def tasks(folder, more: str = "") -> dict[str, float]:
    file = folder / "mm2.properties"
    file.write_text(TWO + more)
    config = load_config(file).config
    found = tasks_of(config.flow("A->B"), config, GroupSyncs(config))
    return {each.name: each.every.total_seconds() for each in found}


def test_heartbeats_go_out_every_second_unless_the_file_says_otherwise(tmp_path):
    assert tasks(tmp_path)["heartbeats"] == 1
    assert tasks(tmp_path, "emit.heartbeats.interval.seconds = 5\n")["heartbeats"] == 5


def test_hb_01_heartbeats_can_be_switched_off(tmp_path):
    assert "heartbeats" not in tasks(tmp_path, "emit.heartbeats.enabled = false\n")
    assert "heartbeats" not in tasks(tmp_path, "A->B.emit.heartbeats.enabled = false\n")


@pytest.mark.parametrize(
    ("more", "back"),
    [
        pytest.param("", False, id="a source that is only read"),
        pytest.param("B->A.emit.heartbeats.enabled = true\n", True, id="asked for by the pair"),
        pytest.param("emit.heartbeats.enabled = true\n", True, id="asked for by all"),
        pytest.param(
            "emit.heartbeats.enabled = true\nB->A.emit.heartbeats.enabled = false\n",
            False,
            id="all but this pair",
        ),
        pytest.param(
            "B->A.enabled = true\nB->A.emit.heartbeats.enabled = true\n", False, id="its own flow"
        ),
    ],
)
def test_hb_02_a_pair_that_copies_nothing_has_heartbeats_where_they_are_asked_for(
    tmp_path, more, back
):
    assert ("heartbeats on the source" in tasks(tmp_path, more)) is back


def test_cc_01_cc_06_checkpoints_are_written_unless_the_file_says_otherwise(tmp_path):
    assert tasks(tmp_path)["checkpoints"] == 60
    assert tasks(tmp_path, "emit.checkpoints.interval.seconds = 1\n")["checkpoints"] == 1
    assert "checkpoints" not in tasks(tmp_path, "emit.checkpoints.enabled = false\n")


@pytest.mark.parametrize(
    ("more", "written"),
    [
        pytest.param("", False, id="a source that is only read"),
        pytest.param("emit.offset-syncs.enabled = true\n", True, id="asked for"),
        pytest.param("offset-syncs.topic.location = target\n", True, id="a place is named"),
        pytest.param(
            "offset-syncs.topic.location = target\nemit.offset-syncs.enabled = false\n",
            False,
            id="IT-05, switched off",
        ),
    ],
)
def test_it_05_dm_02_offset_syncs_are_written_where_they_are_asked_for(tmp_path, more, written):
    assert ("offset syncs" in tasks(tmp_path, more)) is written
