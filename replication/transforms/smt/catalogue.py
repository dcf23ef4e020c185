"""Which of Connect's transforms and predicates there are, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from replication.transforms.smt import field_smts, predicates, record_smts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.transforms.smt.field_smts import Apply
    from replication.transforms.smt.predicates import Test

Made = TypeVar("Made")

PRESENCE = "presence"  # of a value: whether it is null
_NONE: frozenset[str] = frozenset()
_KEY, _VALUE, _HEADERS, _TIME = (frozenset({e}) for e in ("key", "value", "headers", "timestamp"))


@dataclass(frozen=True, slots=True)
class SmtClass(Generic[Made]):
    """One class: what makes it from its settings, and which settings it has."""

    make: Callable[[Mapping[str, str]], Made]
    needed: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    fields: str = ""  # key or value, whose fields it reads
    reads: frozenset[str] = _NONE  # what of a record it depends on, besides its topic
    writes: frozenset[str] = _NONE  # key, value or headers


_PACKAGE = "org.apache.kafka.connect.transforms."
_REPLACE = ("exclude", "include", "renames")

SMTS: Mapping[str, SmtClass[Apply]] = {
    "Filter": SmtClass(record_smts.filter_out),
    "RegexRouter": SmtClass(record_smts.regex_router, ("regex", "replacement")),
    "TimestampRouter": SmtClass(
        record_smts.timestamp_router, more=("topic.format", "timestamp.format"), reads=_TIME
    ),
    "InsertHeader": SmtClass(
        record_smts.insert_header, ("header", "value.literal"), (), "", _HEADERS, _HEADERS
    ),
    "DropHeaders": SmtClass(record_smts.drop_headers, ("headers",), (), "", _HEADERS, _HEADERS),
    "ReplaceField$Key": SmtClass(
        partial(field_smts.replace_field, "key"), (), _REPLACE, "key", _KEY, _KEY
    ),
    "ReplaceField$Value": SmtClass(
        partial(field_smts.replace_field, "value"), (), _REPLACE, "value", _VALUE, _VALUE
    ),
    "MaskField$Key": SmtClass(
        partial(field_smts.mask_field, "key"), ("fields",), ("replacement",), "key", _KEY, _KEY
    ),
    "MaskField$Value": SmtClass(
        partial(field_smts.mask_field, "value"),
        ("fields",),
        ("replacement",),
        "value",
        _VALUE,
        _VALUE,
    ),
    "ValueToKey": SmtClass(field_smts.value_to_key, ("fields",), (), "value", _VALUE, _KEY),
}

PREDICATES: Mapping[str, SmtClass[Test]] = {
    "TopicNameMatches": SmtClass(predicates.topic_name_matches, ("pattern",)),
    "HasHeaderKey": SmtClass(predicates.has_header_key, ("name",), reads=_HEADERS),
    "RecordIsTombstone": SmtClass(predicates.record_is_tombstone, reads=frozenset({PRESENCE})),
}


def simple_name(kind: str) -> str:
    """Return the name of a class of Connect without its package, as it may be written too."""
    text = kind.strip()
    for package in (f"{_PACKAGE}predicates.", _PACKAGE):
        text = text.removeprefix(package)
    return text
