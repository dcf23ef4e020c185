"""Builders for configuration tests."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.config.load import Loaded, examine, load_config

if TYPE_CHECKING:
    from pathlib import Path

    from replication.config.file.findings import ConfigFinding
    from replication.settings.flow_settings import Flow

TWO = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
_NUMBERS = itertools.count()


def written(folder: Path, text: str) -> Path:
    """Return a file that holds ``text``, byte for byte."""
    path = folder / f"mm2-{next(_NUMBERS)}.properties"
    path.write_bytes(text.encode())
    return path


def loaded(folder: Path, text: str, *, lenient: bool = False) -> Loaded:
    """Return what a file of ``text`` loads to."""
    return load_config(written(folder, text), lenient=lenient)


def flow(folder: Path, more: str, name: str = "A->B") -> Flow:
    """Return a flow of a file that enables A->B and has the lines ``more``."""
    return loaded(folder, TWO + more).config.flow(name)


def found(folder: Path, text: str, *, lenient: bool = False) -> tuple[ConfigFinding, ...]:
    """Return all findings of a file, wrong or not."""
    return examine(written(folder, text), lenient=lenient)[1]


def about(findings: tuple[ConfigFinding, ...], key: str) -> list[str]:
    """Return severity, message and suggestion of each finding about ``key``."""
    return [f"{f.severity}: {f.message} → {f.suggestion}" for f in findings if f.key == key]


def props(**ready: str) -> dict[str, Value]:
    """Return properties; ``__`` in a name is a dot, ``_to_`` the arrow."""
    return values({key.replace("_to_", "->").replace("__", "."): each
                   for key, each in ready.items()})  # fmt: skip


def values(plain: dict[str, str]) -> dict[str, Value]:
    """Return properties as if each stood on a line of its own."""
    return {key: Value(text, key, line) for line, (key, text) in enumerate(plain.items(), 1)}


def texts(resolved: dict[str, Value]) -> dict[str, str]:
    """Return properties without their origins."""
    return {key: value.text for key, value in resolved.items()}
