"""A record in a line of JSON, as exports of diverged tails have it: text, or bytes in base64."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERS = ("partition", "offset", "timestamp")


def record_of(line: str) -> dict[str, Any]:
    """Return the columns of a record. Raises ValueError with the reason."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - what the caller names
    for name in _NUMBERS:
        if not isinstance(found.get(name), int) or isinstance(found[name], bool):
            raise ValueError(f"{name} is not a whole number")  # noqa: TRY004 - as above
    topic = found.get("topic")
    if topic is not None and not isinstance(topic, str):
        raise ValueError("topic is not a string")
    return {
        "topic": topic,
        **{name: found[name] for name in _NUMBERS},
        "key": _bytes(found, "key"),
        "value": _bytes(found, "value"),
        "headers": _headers(found.get("headers")),
    }


def _headers(listed: Any) -> list[dict[str, Any]]:
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise ValueError("headers is not a list of pairs")  # noqa: TRY004 - as above
    found = []
    for each in listed:
        if not (isinstance(each, list) and len(each) == 2 and isinstance(each[0], str)):
            raise ValueError("headers is not a list of pairs")
        found.append({"key": each[0], "value": _bytes({each[0]: each[1]}, each[0])})
    return found


def _bytes(record: Mapping[str, Any], name: str) -> bytes | None:
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and isinstance(value.get("base64"), str) and len(value) == 1:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except binascii.Error:
            pass
    raise ValueError(f'{name} is neither text nor {{"base64": "..."}}')
