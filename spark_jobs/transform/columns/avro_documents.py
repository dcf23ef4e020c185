"""Decodes Avro, as Confluent's serializers write it, to JSON documents, which SQL then sees.

A byte 0, the id of the schema in four bytes, and the value without a schema of its own. What JSON
has no type for is text: decimals, times (ISO 8601), UUIDs, NaN and infinities; bytes are in base64.
"""

from __future__ import annotations

import base64
import datetime as dt
import io
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

from replication.adapters.schema_registry import SchemaRegistry, UnknownSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.schema_registry import Schema

_HEAD = 5  # bytes before the value
_LONGEST = 200  # characters of a library's message


_here: dict[tuple[tuple[str, str], ...], AvroDocuments] = {}


class NotAvro(Exception):
    """Bytes that cannot be decoded; the message says why."""


@dataclass(slots=True)
class AvroDocuments:
    """Decodes by the schemas of one registry."""

    registry: SchemaRegistry
    _parsed: dict[int, Any] = field(default_factory=dict)

    def column(self, side: str, encoded: pa.BinaryArray) -> tuple[pa.BinaryArray, list[int]]:
        """Return keys or values as JSON, and the rows that cannot be decoded, which are null.

        Raises ClusterUnavailable, ClusterRejected and ConfigError when the registry cannot say.
        """
        found: list[bytes | None] = []
        bad: list[int] = []
        for row, content in enumerate(encoded.to_pylist()):
            try:
                found.append(self.document(side, content))
            except NotAvro:
                found.append(None)
                bad.append(row)
        return pa.array(found, pa.binary()), bad

    def document(self, side: str, content: bytes | None) -> bytes | None:
        """Return a key or a value as JSON. Raises NotAvro, and as ``column``."""
        if content is None:
            return None
        if len(content) < _HEAD or content[0] != 0:
            raise NotAvro(f"the {side} is not Avro with a schema id: no byte 0 and 4 others")
        number = int.from_bytes(content[1:_HEAD], "big")
        try:
            schema = self._schema(number)
            data = io.BytesIO(content)
            data.seek(_HEAD)
            found = fastavro.schemaless_reader(data, schema, None)
        except UnknownSchema as unknown:
            raise NotAvro(f"the {side} cannot be decoded: {unknown}") from None
        except _FAILURES as error:
            why = f"{type(error).__name__}: {error}"[:_LONGEST]
            raise NotAvro(f"the {side} is not of the schema {number}: {why}") from None
        if data.tell() != len(content):
            left = len(content) - data.tell()
            raise NotAvro(f"the {side} is not of the schema {number}: {left} bytes are left over")
        return _written(found)

    def _schema(self, number: int) -> Any:
        if number not in self._parsed:
            self._parsed[number] = _parsed(number, self.registry.schema(number))
        return self._parsed[number]


def documents_of(settings: Mapping[str, str]) -> AvroDocuments:
    """Return this process' own for a registry; see ``SchemaRegistry.settings``."""
    key = tuple(sorted(settings.items()))
    if key not in _here:
        _here[key] = AvroDocuments(SchemaRegistry(settings))
    return _here[key]


# What fastavro raises on bytes of another schema; it has no class of its own for that.
_FAILURES = (
    EOFError, ValueError, TypeError, KeyError, IndexError, OverflowError, ArithmeticError,
    MemoryError, RecursionError, AttributeError,
)  # fmt: skip


def _parsed(number: int, schema: Schema) -> Any:
    """Return a schema as fastavro wants it. Raises UnknownSchema for one that it cannot parse."""
    named: dict[str, Any] = {}
    try:
        for each in schema.references:
            fastavro.parse_schema(json.loads(each), named_schemas=named)
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
    except (fastavro.schema.SchemaParseException, *_FAILURES) as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]
        raise UnknownSchema(f"schema {number} of the registry cannot be parsed: {why}") from None


def _written(value: Any) -> bytes:
    try:
        text = json.dumps(value, default=_text, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that JSON does not have
        text = json.dumps(_finite(value), default=_text, ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    return str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value
