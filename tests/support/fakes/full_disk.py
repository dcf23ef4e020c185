"""A disk that has no space left: files are made on it, and stay empty."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


class Disk:
    """The disk of a directory. While ``problem`` is an errno, nothing is written to it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.problem: int | None = None
        self._root = root
        for name in ("write_text", "write_bytes"):
            self._guard(name, monkeypatch)

    def fill(self, problem: int = errno.ENOSPC) -> None:
        self.problem = problem

    def free(self) -> None:
        self.problem = None

    def _guard(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(Path, name)

        def write(path: Path, *given: Any) -> int:
            if self.problem is None or not path.is_relative_to(self._root):
                return real(path, *given)
            if self.problem == errno.ENOSPC:
                path.touch()
            raise OSError(self.problem, os.strerror(self.problem), str(path))

        monkeypatch.setattr(Path, name, write)
