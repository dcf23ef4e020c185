"""Connect's predicates: TopicNameMatches, HasHeaderKey, RecordIsTombstone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from replication.naming.java_regex import Untranslatable, to_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.transforms.smt.message import Message

    Test = Callable[[Message], bool]


def java_pattern(text: str) -> re.Pattern[str]:
    """Compile a Java pattern. Raises ValueError."""
    try:
        return re.compile(to_python(text), re.ASCII)
    except Untranslatable as error:
        raise ValueError(str(error)) from None


def topic_name_matches(settings: Mapping[str, str]) -> Test:
    pattern = java_pattern(settings["pattern"])
    return lambda message: pattern.fullmatch(message.topic) is not None


def has_header_key(settings: Mapping[str, str]) -> Test:
    name = settings["name"]
    return lambda message: any(each == name for each, _ in message.headers)


def record_is_tombstone(_: Mapping[str, str]) -> Test:
    return lambda message: message.value is None
