"""Replaces files atomically, because other processes read them meanwhile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Replace a file's content as a whole: half of it would say something else."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.new")
    temporary.write_text(text)
    temporary.replace(file)
