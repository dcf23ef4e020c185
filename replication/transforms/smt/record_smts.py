"""Connect's transforms of whole records: Filter, RegexRouter, TimestampRouter, headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.naming.java_replacement import BadReplacement, read_replacement
from replication.transforms.smt.java_values import check_date, date_text, literal_text
from replication.transforms.smt.message import CannotTransform
from replication.transforms.smt.predicates import java_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.transforms.smt.message import Message

    Apply = Callable[[Message], bool]  # False: the record is dropped


def filter_out(_: Mapping[str, str]) -> Apply:
    """Drop every record; a predicate says which."""
    return lambda _: False


def regex_router(settings: Mapping[str, str]) -> Apply:
    pattern = java_pattern(settings["regex"])
    try:
        replacement = read_replacement(settings["replacement"], pattern)
    except BadReplacement as error:
        raise ValueError(str(error)) from None

    def apply(message: Message) -> bool:
        if (match := pattern.fullmatch(message.topic)) is not None:
            message.topic = replacement.fill(match, {})
        return True

    return apply


def timestamp_router(settings: Mapping[str, str]) -> Apply:
    topic_format = settings.get("topic.format", "${topic}-${timestamp}")
    date_format = settings.get("timestamp.format", "yyyyMMdd")
    check_date(date_format)

    def apply(message: Message) -> bool:
        if message.timestamp < 0:
            raise CannotTransform("the record has no timestamp")
        date = date_text(date_format, message.timestamp)
        named = topic_format.replace("${topic}", message.topic)
        message.topic = named.replace("${timestamp}", date)
        return True

    return apply


def insert_header(settings: Mapping[str, str]) -> Apply:
    added = settings["header"], literal_text(settings["value.literal"]).encode()

    def apply(message: Message) -> bool:
        message.headers = (*message.headers, added)
        return True

    return apply


def drop_headers(settings: Mapping[str, str]) -> Apply:
    names = frozenset(each.strip() for each in settings["headers"].split(","))

    def apply(message: Message) -> bool:
        message.headers = tuple(each for each in message.headers if each[0] not in names)
        return True

    return apply
