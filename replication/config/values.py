"""Read a value by its kind. Each reader raises ValueError with a message for the operator."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from replication.durations import parse_duration, unit_of

if TYPE_CHECKING:
    from datetime import timedelta

_ADDRESS = re.compile(r"(?:[A-Za-z0-9_+.-]*://)?(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]\"']+):(\d{1,5})")
_SIZE = re.compile(r"(\d+)\s*(b|kb|kib|mb|mib|gb|gib)?", re.IGNORECASE | re.ASCII)
_SIZES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def items(text: str) -> tuple[str, ...]:
    """Split a list as Kafka does: blanks around commas go, a blank list is empty."""
    stripped = text.strip()
    return tuple(re.split(r"\s*,\s*", stripped)) if stripped else ()


def boolean(text: str) -> bool:
    """Read ``true`` or ``false`` in any case."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(f"{shown(text)} is neither true nor false")


def integer(text: str, least: int | None = None) -> int:
    """Read a whole number."""
    if not re.fullmatch(r"[+-]?\d+", text.strip(), re.ASCII):
        raise ValueError(f"{shown(text)} is not a whole number")
    number = int(text)
    if least is not None and number < least:
        raise ValueError(f"{number} is too small: {least} is the least")
    return number


def port(text: str) -> int:
    """Read a port to listen on; 0: any free one."""
    number = integer(text, least=0)
    if number >= 1 << 16:
        raise ValueError(f"{number} is no port: 65535 is the highest")
    return number


def duration(text: str, key: str) -> timedelta:
    """Read a span of time in the unit that ``key`` ends in, by default seconds."""
    if text.strip().startswith("-"):
        raise ValueError(f"{shown(text)} is negative")
    try:
        return parse_duration(text, unit_of(key) or "s")
    except ValueError as error:
        raise ValueError(f"{shown(text)} is {error}") from None


def size(text: str) -> int:
    """Read a number of bytes, such as ``67108864`` or ``64MiB``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{shown(text)} is not a size: write bytes, or e.g. 64MiB")
    return int(match[1]) * _SIZES[(match[2] or "b").lower()[0]]


def choice(text: str, choices: str) -> str:
    """Read one of ``a|b|c``, in any case."""
    for each in choices.split("|"):
        if each.lower() == text.strip().lower():
            return each
    raise ValueError(f"{shown(text)} is none of {', '.join(choices.split('|'))}")


def start(text: str) -> str:
    """Read where copying begins: ``earliest``, ``latest``, or a moment, returned in ms as text.

    A moment is ISO 8601, in UTC unless it says otherwise, or a number of ms since 1970.
    """
    word = text.strip().lower()
    if word in {"earliest", "latest"} or (word.isascii() and word.isdigit()):
        return word
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{shown(text)} is neither earliest, latest nor a moment such as 2026-05-01T08:00:00Z"
        ) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(int(aware.timestamp() * 1000))


def start_offsets(text: str) -> dict[str, dict[int, int]]:
    """Read ``topic:partition:offset`` triples into topic -> partition -> source offset."""
    found: dict[str, dict[int, int]] = {}
    for each in items(text):
        topic, partition, offset = _triple(each)
        if found.setdefault(topic, {}).setdefault(partition, offset) != offset:
            raise ValueError(f"{shown(each)} gives {topic}-{partition} a second offset")
    return found


def _triple(text: str) -> tuple[str, int, int]:
    match = re.fullmatch(r"([A-Za-z0-9._-]+):(\d+):(\d+)", text, re.ASCII)
    if match is None:
        raise ValueError(f"{shown(text)} is not topic:partition:offset, such as orders:0:1200")
    return match[1], int(match[2]), int(match[3])


def addresses(text: str) -> tuple[str, ...]:
    """Read ``bootstrap.servers``: host:port pairs; a listener's name before them goes."""
    found = tuple(each for each in items(text) if each)
    if not found:
        raise ValueError("is empty: write host:port, or several with commas")
    return tuple(_address(each) for each in found)


def check(kind: str, key: str, text: str) -> None:
    """Raise ValueError unless ``text`` is a value of ``kind`` (see ``mm2_keys.Key``)."""
    name, _, choices = kind.partition(" ")
    match name:
        case "boolean":
            boolean(text)
        case "int":
            integer(text)
        case "port":
            port(text)
        case "seconds" | "ms":
            if not re.fullmatch(r"-\d+", text.strip()):  # MirrorMaker 2 means: never
                duration(text, key)
        case "bytes":
            size(text)
        case "choice":
            choice(text, choices)
        case "start":
            start(text)
        case "start-offsets":
            start_offsets(text)


def shown(text: str) -> str:
    """Return a value for a message: quoted, and cut when long."""
    limit = 40
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _address(text: str) -> str:
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        raise ValueError(f"{shown(text)} is not an address: write host:port")
    return f"{match[1]}:{match[2]}"
