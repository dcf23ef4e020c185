"""Where a file sets how a client logs in: beside the client's properties, for its errors.

No client of Kafka knows these keys. Their values name a key and a file, not its line: another line
of the file may be edited while a flow runs, which changes no client.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

CREDENTIALS, TRUST = "isthmus.credentials.origin", "isthmus.trust.origin"


class KeyOrigin(NamedTuple):
    """A key of a file."""

    key: str
    file: Path

    def __str__(self) -> str:
        return f"{self.key} {self.file}"


def origin_of(text: str) -> KeyOrigin | None:
    """Return the origin that ``str`` has made to text; None for an empty text."""
    key, _, file = text.partition(" ")
    return KeyOrigin(key, Path(file)) if file else None
