"""JSON as Connect's JsonConverter reads and writes it without schemas. Pure.

Integers are longs, other numbers doubles; members of objects come in a HashMap's order.
"""

from __future__ import annotations

import json
import re
from typing import Any

from replication.transforms.smt.java_maps import hash_order
from replication.transforms.smt.java_values import double_text

_CONTROL = re.compile(r"\\u00([0-9a-f]{2})")
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
_LONG = 1 << 64


class NoJson(ValueError):
    """Bytes that are no JSON document."""


def read_json(data: bytes) -> Any:
    """Return the value that ``data`` is, as Python's json has it. Raises NoJson."""
    try:
        return _ordered(json.loads(data, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        raise NoJson(f"it is not valid JSON: {error}") from None


def written(value: Any) -> bytes:
    """Return the document of ``value``, in UTF-8 and without blanks."""
    return _text(value).encode("utf-8", "surrogatepass")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in hash_order(value)}
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + _LONG // 2) % _LONG - _LONG // 2  # BigInteger.longValue
    return value + 0.0 if isinstance(value, float) else value  # -0.0 is read as 0.0


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(k)}:{_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float):
        return double_text(value)
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    plain = _CONTROL.sub(lambda m: f"\\u00{m[1].upper()}", json.dumps(text, ensure_ascii=False))
    return _BEYOND.sub(lambda m: _escaped(m[0]), plain)


def _escaped(char: str) -> str:
    """Return a character beyond 16 bits as Jackson writes it: two escapes."""
    raw = char.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{raw[at : at + 4]}" for at in range(0, len(raw), 4))
