"""Paths, lock and JSON files of one Spark application.

::

    .isthmus/apps/<application>/
      driver.lock             held by the running driver (flock); it says which process that is
      driver.log              output of the driver and its JVM
      watch.json              the watcher's record of starts and exits
      announced               hash of the warnings and patterns that were logged last
      flows/<flow>/plan.json  the plan: the driver writes, the query's planner reads
      flows/<flow>/epoch.json the running epoch: the query's planner writes, the driver reads
      flows/<flow>/clusters.json  ids of the flow's clusters, as last seen to be right
      flows/<flow>/checkpoint-<generation>/   Spark's own; a cache
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from replication.adapters.local.files import make_private, open_private, write_whole
from replication.adapters.local.processes import this_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOCK_WAIT_S = 1.0  # a check of whether it is held takes it for a moment


class Locked(Exception):
    """Another process holds the lock; the message is what it wrote there."""


@dataclass(frozen=True, slots=True)
class FlowDir:
    """The files of one flow. Each is replaced as a whole, so a reader never sees half a file."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def epoch(self) -> Path:
        return self.root / "epoch.json"

    def fresh_checkpoint(self, generation: int, attempt: int) -> Path:
        """Return a path for a new checkpoint directory; remove those of earlier starts."""
        make_private(self.root)
        for old in self.root.glob("checkpoint-*"):
            shutil.rmtree(old, ignore_errors=True)
        return self.root / f"checkpoint-{generation}-{attempt}"


@dataclass(frozen=True, slots=True)
class AppDir:
    """The directory of one application."""

    root: Path

    @classmethod
    def of(cls, state: Path, application: str) -> AppDir:
        return cls(state.absolute() / "apps" / application)

    @property
    def application(self) -> str:
        return self.root.name

    @property
    def log(self) -> Path:
        return self.root / "driver.log"

    @property
    def watch(self) -> Path:
        return self.root / "watch.json"

    @property
    def announced(self) -> Path:
        return self.root / "announced"

    def flow(self, name: str) -> FlowDir:
        return FlowDir(self.root / "flows" / quote(name, safe=""))

    def make(self) -> tuple[str, ...]:
        """Create it in the state directory, and close both to other users: see make_private."""
        applications = self.root.parent
        return make_private(applications.parent, applications, self.root)

    @contextmanager
    def locked(self) -> Iterator[Lock]:
        """Hold the lock file. Raises Locked. The kernel frees it with the process."""
        self.make()
        file = self.root / "driver.lock"
        open_private(file, "a").close()
        with open_private(
            file, "r+"
        ) as handle:  # to a file that is opened to append, pwrite appends
            _take(handle.fileno(), file)
            lock = Lock(handle.fileno())
            lock.write()
            yield lock


@dataclass(frozen=True, slots=True)
class Lock:
    """The held lock file."""

    descriptor: int

    def write(self, **content: Any) -> None:
        """Replace the file's content: which process holds the lock, and more."""
        text = json.dumps({**asdict(this_process()), **content}).encode()
        os.pwrite(self.descriptor, text, 0)  # first: a full disk has no block for an empty file
        os.ftruncate(self.descriptor, len(text))


def _take(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Locked(path.read_text()) from None
            time.sleep(0.05)
        else:
            return


def write_json(path: Path, content: object) -> None:
    """Replace a file's content as a whole. Raises OSError."""
    make_private(path.parent)
    write_whole(path, json.dumps(content))


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a file's content. None: it is missing or damaged."""
    with suppress(FileNotFoundError, ValueError):
        content = json.loads(path.read_text())
        return content if isinstance(content, dict) else None
    return None
