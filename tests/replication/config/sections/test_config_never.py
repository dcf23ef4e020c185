"""An interval below zero means never, as for MirrorMaker 2."""

from __future__ import annotations

from support.settings.config_files import flow

NEVER = """\
sync.group.offsets.enabled = true
sync.group.offsets.interval.seconds = -1
emit.heartbeats.enabled = true
emit.heartbeats.interval.seconds = -1
emit.checkpoints.interval.seconds = -1
"""


def test_what_comes_never_is_off(tmp_path):
    found = flow(tmp_path, NEVER)
    beats, checkpoints = found.mm2.heartbeats, found.mm2.checkpoints
    assert (found.groups.sync, beats.enabled, beats.back, checkpoints.enabled) == (False,) * 4


def test_without_an_interval_all_of_it_comes(tmp_path):
    found = flow(tmp_path, "\n".join(NEVER.splitlines()[::2][:2]))
    beats, checkpoints = found.mm2.heartbeats, found.mm2.checkpoints
    assert (found.groups.sync, beats.enabled, beats.back, checkpoints.enabled) == (True,) * 4
