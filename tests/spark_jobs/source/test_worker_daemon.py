"""The daemon of Spark's Python workers."""

from __future__ import annotations

import gc
import sys

from spark_jobs.source import worker_daemon


def test_workers_do_not_look_for_garbage_in_what_the_daemon_has_imported(monkeypatch):
    frozen = []
    monkeypatch.setattr(sys, "argv", ["worker_daemon", "json"])
    monkeypatch.setattr(worker_daemon, "manager", lambda: frozen.append(gc.get_freeze_count()))
    try:
        worker_daemon.main()
    finally:
        gc.unfreeze()
    assert frozen[0] > 10_000
