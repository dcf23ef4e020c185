"""Files under the state directory are a cache: damaged or stale ones are as good as none."""

from __future__ import annotations

import json
import os

import pytest

from spark_jobs.process.appdir import AppDir, FlowDir, read_json, write_json


@pytest.mark.parametrize("found", [b"", b'{"number": 3, "ru', b"\x00" * 40, b"[]", b"\xff\xfe"])
def test_bl_125_a_file_that_a_power_cut_left_half_written_reads_as_none(tmp_path, found):
    (tmp_path / "plan.json").write_bytes(found)
    assert read_json(tmp_path / "plan.json") is None
    write_json(tmp_path / "plan.json", {"number": 4})
    assert read_json(tmp_path / "plan.json") == {"number": 4}


def test_bl_054_bl_125_no_query_reads_what_another_one_left_in_its_checkpoint(tmp_path):
    flow, seen = FlowDir(tmp_path), set()
    for generation, attempt in ((1, 1), (1, 2), (2, 1)):
        checkpoint = flow.fresh_checkpoint(generation, attempt)
        assert not checkpoint.exists()
        assert not list(tmp_path.glob("checkpoint-*"))
        (checkpoint / "offsets").mkdir(parents=True)
        (checkpoint / "offsets" / "0").write_text("")  # cut short
        seen.add(checkpoint)
    assert len(seen) == 3


def test_the_lock_file_is_replaced_as_a_whole_however_often_it_is_written(tmp_path):
    directory = AppDir(tmp_path / "apps" / "B")
    with directory.locked() as lock:
        lock.write(generations={"A->B": 7})
        lock.write(generations={})
        found = json.loads((directory.root / "driver.lock").read_text())
    assert found["generations"] == {}
    assert found["pid"] == os.getpid()
