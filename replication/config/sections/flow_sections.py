"""Builds the sections of a flow about topics, groups and copying."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from replication.config.keys.section_keys import field_of, fields_of
from replication.settings.copy_settings import CopySettings
from replication.settings.naming_settings import Selection
from replication.settings.setting_key import KeyLevel

if TYPE_CHECKING:
    from replication.config.file.findings import Notes
    from replication.config.sections.section_reader import Reader


def read_selection(read: Reader, notes: Notes) -> Selection:
    """Return which topics and groups are selected."""
    return read.section(Selection, topics=_topics(read, notes))


def read_copying(read: Reader, consumer: Reader) -> CopySettings:
    """Return how the append engine works; ``consumer`` reads the source consumer's settings."""
    of_consumer = {
        each.name: consumer.value(each)
        for each in fields_of(CopySettings)
        if each.keys[0].level is KeyLevel.CONSUMER
    }
    return read.section(CopySettings, start=_start(read, consumer), **of_consumer)


def _start(read: Reader, consumer: Reader) -> Any:
    """Return where copying begins: by ``copy.start``, else by the consumer's own setting."""
    start = field_of(CopySettings, "start")
    default = consumer.value(replace(start, keys=start.keys[1:]))
    return read.value(replace(start, keys=start.keys[:1], default=default))


def _topics(read: Reader, notes: Notes) -> Any:
    regex, topics = read.props.get("topics.regex"), read.props.get("topics")
    if regex is None or topics is not None:
        if regex is not None:
            notes.warn(regex.at, "has no effect, because topics is set too", "remove one of them")
        elif topics is not None and topics.parsed == ():
            notes.warn(topics.at, "is empty: no topic is copied", "topics = .*")
        first = field_of(Selection, "topics")
        return read.value(replace(first, keys=first.keys[:1]))
    notes.warn(regex.at, "is not MirrorMaker 2's name", f"topics = {regex.text}")
    read.note("topics.regex", regex.text, regex)
    return field_of(Selection, "topics").default if regex.parsed is None else regex.parsed
