"""Fills topics whose records become readable only when the measurement starts.

The records are in an open transaction. A tool that reads committed records finds the topic,
creates its copy and waits at offset 0, warm; the commit then makes everything readable
at once. So a tool is timed while copying only: not while starting, not while the
records are being written, and all tools start from the same state.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bench.records.loader import Share

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOADERS = 2


class BenchFailed(Exception):
    """The bench cannot give a figure; the message says why."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a topic is filled with."""

    topic: str
    partitions: int
    records: int  # over all partitions
    size: int  # bytes of a value

    @property
    def per_partition(self) -> int:
        return self.records // self.partitions


@dataclass(slots=True)
class Gate:
    """A loaded topic. ``open`` makes its records readable."""

    data: Dataset
    _loaders: list[subprocess.Popen[str]]

    def open(self) -> None:
        """Commit; the records can be read when this returns."""
        for loader in self._loaders:
            _send_open(loader)
        for loader in self._loaders:
            _expect(loader, "open", self.data.topic)


@contextlib.contextmanager
def closed_gate(bootstrap: str, data: Dataset) -> Iterator[Gate]:
    """Fill an existing topic; its records stay unreadable until the gate is opened."""
    loaders = [_start(share) for share in shares(bootstrap, data)]
    try:
        for loader in loaders:
            _expect(loader, "loaded", data.topic)
        yield Gate(data, loaders)
    finally:
        for loader in loaders:
            _end(loader)


def shares(bootstrap: str, data: Dataset) -> list[Share]:
    """Spread the partitions over the loaders."""
    every = range(data.partitions)
    parts = [tuple(every[first::_LOADERS]) for first in range(_LOADERS)]
    return [
        Share(bootstrap, data.topic, part, data.per_partition, data.size) for part in parts if part
    ]


def _start(share: Share) -> subprocess.Popen[str]:
    """Start a loader. In a session of its own, so that Ctrl-C reaches it through its pipe only."""
    return subprocess.Popen(
        [sys.executable, "-m", "bench.records.loader", json.dumps(asdict(share))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _send_open(loader: subprocess.Popen[str]) -> None:
    if loader.stdin:
        with contextlib.suppress(BrokenPipeError):  # it ended: its missing answer is reported
            loader.stdin.write("open\n")
            loader.stdin.flush()


def _expect(loader: subprocess.Popen[str], word: str, topic: str) -> None:
    answer = loader.stdout.readline().strip() if loader.stdout else ""
    if answer != word:
        raise BenchFailed(f"writing {topic}: the loader ended with {loader.wait()}")


def _end(loader: subprocess.Popen[str]) -> None:
    loader.kill()
    loader.communicate()
