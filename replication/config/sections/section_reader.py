"""Reads sections of the settings and records which line set each value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from replication.config.file import values
from replication.config.keys.connection_keys import masked
from replication.config.keys.section_keys import field_of, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from replication.config.file.properties import Value
    from replication.config.keys.section_keys import SectionField
    from replication.settings.setting_key import Key

S = TypeVar("S")
DEFAULT = "default"  # the origin of a value that no line sets


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting in force: its value (masked when secret) and ``file:line`` or ``default``.

    A line ``name = value`` sets it: at the top level, or with ``A->B.`` before it for one flow.
    """

    name: str
    value: str
    origin: str
    key: str = ""  # as the file writes it, prefix included


@dataclass(slots=True)
class Reader:
    """Reads fields of sections from ``props``, whose values were parsed when they were checked.

    A field whose key is not set, or has a wrong value, which was noted, gets its default.
    """

    file: Path
    props: Mapping[str, Value]
    trace: list[SettingInForce] = field(default_factory=list)

    def section(self, section: type[S], **given: Any) -> S:
        """Return a section of the settings; ``given`` are the fields that follow from others."""
        read = {
            each.name: self.value(each) for each in fields_of(section) if each.name not in given
        }
        return section(**read, **given)

    def field(self, section: type, name: str) -> Any:
        """Return the value of one field of a section."""
        return self.value(field_of(section, name))

    def value(self, setting_field: SectionField) -> Any:
        """Return the value of a field: that of its first key which is set, else its default."""
        key = next(
            (each for each in setting_field.keys if each.name in self.props), setting_field.keys[0]
        )
        setting = self.props.get(key.name)
        parsed = None if setting is None else _parsed(key, setting)
        if setting is None or parsed is None:
            if setting_field.default is not None:
                self.note(key.name, values.written(key.kind, key.name, setting_field.default), None)
            return setting_field.default
        self.note(key.name, setting.text.strip(), setting)
        return parsed

    def text(self, name: str, default: str = "") -> str:
        """Return the string that a key has in the file, without blanks around it."""
        setting = self.props.get(name)
        if setting is None or not isinstance(setting.parsed, str):
            self.note(name, default, None)
            return default
        self.note(name, setting.text.strip(), setting)
        return setting.parsed

    def note(self, name: str, value: str, setting: Value | None) -> None:
        """Remember a setting that was found by other means."""
        origin = f"{self.file}:{setting.line}" if setting and setting.line else DEFAULT
        self.trace.append(
            SettingInForce(name, masked(name, value), origin, setting.key if setting else "")
        )


def _parsed(key: Key, setting: Value) -> object:
    """Return what a value means; MirrorMaker 2's own defaults come from no line of the file."""
    return setting.parsed if setting.line else values.parse(key.kind, key.name, setting.text)
