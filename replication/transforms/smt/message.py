"""A record as a chain of single message transforms sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from replication.transforms.smt.connect_json import NoJson, read_json, written

if TYPE_CHECKING:
    from replication.transforms.transformed_record import Headers, SourceRecord


class CannotTransform(Exception):
    """A record on which Connect's transform throws a DataException; the message says why."""


@dataclass(slots=True)
class Message:
    """One record; its key and value are decoded when a transform asks for their fields."""

    topic: str  # as the target calls it
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @classmethod
    def of(cls, topic: str, record: SourceRecord) -> Message:
        return cls(topic, record.timestamp, record.key, record.value, record.headers)

    def fields(self, side: str) -> dict[str, Any]:
        """Return the members of the JSON object that the ``key`` or ``value`` is.

        Raises CannotTransform.
        """
        raw = getattr(self, side)
        try:
            found = None if raw is None else read_json(raw)
        except NoJson as problem:
            raise CannotTransform(f"the {side} cannot be read: {problem}") from None
        if not isinstance(found, dict):
            raise CannotTransform(f"the {side} is not a JSON object, so it has no fields")
        return found

    def set_fields(self, side: str, fields: dict[str, Any]) -> None:
        """Replace the ``key`` or the ``value`` by a JSON object."""
        setattr(self, side, written(fields))
