"""Read the settings of one flow, and remember where each came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from replication.config import values
from replication.config.client_keys import is_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from replication.config.properties import Value

T = TypeVar("T")
MASK = "********"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in force: its value (masked when secret) and ``file:line`` or ``default``."""

    name: str
    value: str
    origin: str
    key: str = ""  # as the file writes it, prefix included


@dataclass(slots=True)
class Reader:
    """Reads from ``props``; a value that cannot be read gives the default.

    What is wrong with a value was reported when the file was checked.
    """

    file: Path
    props: Mapping[str, Value]
    resolve: Callable[[str], str]
    trace: list[Setting] = field(default_factory=list)

    def text(self, name: str, default: str) -> str:
        """Return a string without blanks around it."""
        return self._read(name, default, str.strip)

    def items(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list."""
        return self._read(name, default, values.items)

    def whole(self, name: str, default: int, least: int) -> int:
        """Return a whole number."""
        return self._read(name, default, lambda text: values.integer(text, least))

    def bytes(self, name: str, default: int) -> int:
        """Return a number of bytes."""
        return self._read(name, default, values.size)

    def boolean(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        return self._read(name, default, values.boolean)

    def duration(self, name: str, default: timedelta) -> timedelta:
        """Return a span of time."""
        return self._read(name, default, lambda text: values.duration(text, name))

    def choice(self, name: str, default: str, choices: str) -> str:
        """Return one of the choices."""
        return self._read(name, default, lambda text: values.choice(text, choices))

    def parsed(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        """Return what ``parse`` makes of the text; it raises ValueError for a wrong one."""
        return self._read(name, default, parse)

    def first(self, *names: str) -> str:
        """Return the first of ``names`` that is set, else the last: where to read a setting."""
        return next((name for name in names if name in self.props), names[-1])

    def note(self, name: str, value: str, setting: Value | None) -> None:
        """Remember a setting that was found by other means."""
        origin = f"{self.file}:{setting.line}" if setting and setting.line else "default"
        hidden = is_secret(name) or name == "alert.webhook.url"  # such addresses hold a token
        shown = MASK if hidden and value else value
        self.trace.append(Setting(name, shown, origin, setting.key if setting else ""))

    def _read(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        setting = self.props.get(name)
        result, shown = default, _shown(default)
        if setting is not None:
            try:
                result = parse(self.resolve(setting.text))
                shown = setting.text.strip()
            except ValueError:
                setting = None
        self.note(name, shown, setting)
        return result


def _shown(default: object) -> str:
    match default:
        case timedelta():
            return f"{default.total_seconds():g}s"
        case tuple() | dict():
            return ", ".join(default)
        case bool():
            return str(default).lower()
    return str(default)
