"""Parses a value by its kind. A parser raises ValueError with a message for the operator."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from replication.config.file.cron import cron
from replication.config.file.sasl import SASL_MECHANISMS
from replication.config.file.tls_names import cipher_suites, newest_protocol, tls_protocols
from replication.durations import format_duration, parse_duration, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ADDRESS = re.compile(r"(?:[A-Za-z0-9_+.-]*://)?(\[[^\s/\[\]]+\]|[^\s:/\[\]\"']+):(\d{1,5})")
_OWNER = re.compile(r"team:[\w.-]+|[^@\s:]+@[^@\s]+\.[^@\s.]+")
_SIZE = re.compile(r"(\d+)\s*(b|kb|kib|mb|mib|gb|gib)?", re.IGNORECASE | re.ASCII)
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_UNITS = {"ms": timedelta(milliseconds=1), "s": timedelta(seconds=1)}
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
    raise ValueError(f"{displayed(text)} is neither true nor false")


def integer(text: str, least: int | None = None) -> int:
    """Read a whole number."""
    if not re.fullmatch(r"[+-]?\d+", text.strip(), re.ASCII):
        raise ValueError(f"{displayed(text)} is not a whole number")
    number = int(text)
    if least is not None and number < least:
        raise ValueError(f"{number} is below the minimum of {least}")
    return number


def port(text: str) -> int:
    """Read a port to listen on; 0: any free one."""
    number = integer(text, least=0)
    if number >= 1 << 16:
        raise ValueError(f"{number} is not a port: the highest is 65535")
    return number


def duration(text: str, key: str) -> timedelta:
    """Read a span of time in the unit that ``key`` ends in, by default seconds."""
    if text.strip().startswith("-"):
        raise ValueError(f"{displayed(text)} is negative")
    try:
        return parse_duration(text, unit_of(key) or "s")
    except ValueError as error:
        raise ValueError(f"{displayed(text)} is {error}") from None


def interval(text: str, key: str) -> timedelta:
    """Read how often something happens; a number below zero means never: zero is returned."""
    if re.fullmatch(r"-\d+", text.strip()):  # so does MirrorMaker 2
        return timedelta(0)
    return duration(text, key)


def positive_duration(text: str, key: str) -> timedelta:
    """Read a span of time that is longer than zero."""
    span = duration(text, key)
    if not span:
        raise ValueError(f"{displayed(text)} is not longer than zero")
    return span


def size(text: str, least: int | None = None) -> int:
    """Read a number of bytes, such as ``67108864`` or ``64MiB``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{displayed(text)} is not a size: write bytes, or e.g. 64MiB")
    number = int(match[1]) * _SIZES[(match[2] or "b").lower()[0]]
    if least is not None and number < least:
        raise ValueError(f"{displayed(text)} is below the minimum of {format_size(least)}")
    return number


def format_size(number: int) -> str:
    """Return a number of bytes in its largest unit without a remainder: ``64MiB``."""
    for unit, letter in (("GiB", "g"), ("MiB", "m"), ("KiB", "k")):
        if number and number % _SIZES[letter] == 0:
            return f"{number // _SIZES[letter]}{unit}"
    return str(number)


def choice(text: str, choices: str) -> str:
    """Read one of ``a|b|c``, in any case."""
    for each in choices.split("|"):
        if each.lower() == text.strip().lower():
            return each
    raise ValueError(f"{displayed(text)} is not one of {', '.join(choices.split('|'))}")


def sasl_mechanism(text: str) -> str:
    """Read one of the SASL mechanisms that are supported."""
    return choice(text, "|".join(SASL_MECHANISMS))


def urls(text: str) -> tuple[str, ...]:
    """Read addresses with a scheme. They may hold tokens, so the message shows none."""
    found = tuple(each for each in items(text) if each)
    for number, each in enumerate(found, 1):
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://\S", each):
            raise ValueError(
                f"URL {number} of {len(found)} does not begin with a scheme, such as slack:// or "
                "mailtos://; write a comma within an URL as %2C"
            )
    return found


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
            f"{displayed(text)} is neither earliest, latest nor a moment such as "
            "2026-05-01T08:00:00Z"
        ) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(int(aware.timestamp() * 1000))


def start_offsets(text: str) -> dict[str, dict[int, int]]:
    """Read ``topic:partition:offset`` triples into topic -> partition -> source offset."""
    found: dict[str, dict[int, int]] = {}
    for each in items(text):
        topic, partition, offset = _triple(each)
        if found.setdefault(topic, {}).setdefault(partition, offset) != offset:
            raise ValueError(f"{displayed(each)} sets a second offset for {topic}-{partition}")
    return found


def _triple(text: str) -> tuple[str, int, int]:
    match = re.fullmatch(r"([A-Za-z0-9._-]+):(\d+):(\d+)", text, re.ASCII)
    if match is None:
        raise ValueError(f"{displayed(text)} is not topic:partition:offset, such as orders:0:1200")
    return match[1], int(match[2]), int(match[3])


def topic_limits(text: str) -> dict[str, timedelta | None]:
    """Read ``topic`` or ``topic:limit`` into topic -> limit, in seconds or with a unit."""
    found: dict[str, timedelta | None] = {}
    for each in items(text):
        topic, colon, limit = each.partition(":")
        if not re.fullmatch(r"[A-Za-z0-9._-]+", topic, re.ASCII):
            raise ValueError(f"{displayed(each)} is not a topic or topic:seconds, such as orders:5")
        found[topic] = positive_duration(limit, "") if colon else None
    return found


def owners(text: str) -> tuple[str, ...]:
    """Read e-mail addresses and ``team:name``."""
    found = items(text)
    for each in found:
        if not _OWNER.fullmatch(each):
            raise ValueError(f"{displayed(each)} is neither an e-mail address nor team:name")
    return found


def addresses(text: str) -> tuple[str, ...]:
    """Read ``bootstrap.servers``: host:port pairs; a listener's name before them goes.

    An IPv6 address stands in brackets and may have a scope: ``[fe80::1%eth0]:9092``.
    """
    found = tuple(each for each in items(text) if each)
    if not found:
        raise ValueError("is empty: write host:port, several separated by commas")
    return tuple(_address(each) for each in found)


def parse(kind: str, key: str, text: str, least: int | timedelta | None = None) -> object:
    """Return the value of ``kind`` that ``text`` writes; a duration counts in the unit of ``key``.

    Kinds: string, code (whose line is remembered for messages), list, patterns, pattern, boolean,
    int, port, interval (below zero: never, which is returned as zero), duration (longer than zero),
    bytes, start, start-offsets, topic-limits, owners, addresses, sasl-mechanism, cron, urls,
    ``choice a|b``. An int or a size below ``least`` is wrong; a shorter span of time counts as it.
    """
    name, _, choices = kind.partition(" ")
    if name == "choice":
        return choice(text, choices)
    if name in SPANS:
        span = _PARSE_SPAN[name](text, key)
        return max(span, least) if span and isinstance(least, timedelta) else span
    if name in ("int", "bytes"):
        return _PARSE_NUMBER[name](text, least if isinstance(least, int) else None)
    return _PARSE[name](text)


def written(kind: str, key: str, value: object) -> str:
    """Return the text that ``parse`` reads as ``value``; a duration in the unit of ``key``."""
    match value:
        case bool():
            return str(value).lower()
        case timedelta():
            unit = _UNITS.get(unit_of(key) or "")
            return format_duration(value) if unit is None else str(value // unit)
        case int() if kind == "bytes":
            return format_size(value)
        case tuple() | dict():
            return ", ".join(value)
    return str(value)


def displayed(text: str) -> str:
    """Return a value for a message: quoted, and cut when long."""
    limit = 40
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _address(text: str) -> str:
    match = _ADDRESS.fullmatch(text)
    if match is not None and not 0 < int(match[2]) < 1 << 16:
        raise ValueError(f"{displayed(text)} is not an address: a port is from 1 to 65535")
    if match is None:
        problem = "has no port" if _lacks_port(text) else "is not an address"
        raise ValueError(f"{displayed(text)} {problem}: write {_right_form(text)}")
    host = match[1]
    if host.startswith("[") and not _is_ipv6(host[1:-1]):
        raise ValueError(f"{displayed(text)} is not an address: {host} is not an IPv6 address")
    return f"{host}:{match[2]}"


def _right_form(text: str) -> str:
    """Return how an address is written: with brackets where ``text`` is IPv6 without them."""
    host, _, port = text.rpartition(":")
    if _is_ipv6(host) and port.isdecimal():
        return f"[{host}]:{port}"
    bare = text.strip("[]")
    if _is_ipv6(bare):
        return f"[{bare}]:9092"
    return f"{text}:9092" if _lacks_port(text) else "host:port"


def _lacks_port(text: str) -> bool:
    """Say whether it is the name or IPv4 address of a host alone, without a port."""
    return _ADDRESS.fullmatch(f"{text}:9092") is not None


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


_PARSE: Mapping[str, Callable[[str], object]] = {
    "string": str.strip,
    "code": str.strip,
    "list": items,
    "patterns": items,
    "pattern": lambda text: (text.strip(),),
    "boolean": boolean,
    "port": port,
    "start": start,
    "start-offsets": start_offsets,
    "topic-limits": topic_limits,
    "owners": owners,
    "addresses": addresses,
    "sasl-mechanism": sasl_mechanism,
    "tls-protocols": lambda text: tls_protocols(items(text)),
    "tls-protocol": lambda text: newest_protocol(text.strip()),
    "cipher-suites": lambda text: cipher_suites(items(text)),
    "cron": cron,
    "urls": urls,
}
_PARSE_SPAN: Mapping[str, Callable[[str, str], timedelta]] = {
    "interval": interval,
    "duration": positive_duration,
}
SPANS = frozenset(_PARSE_SPAN)  # the kinds of spans of time
_PARSE_NUMBER: Mapping[str, Callable[[str, int | None], int]] = {"int": integer, "bytes": size}
