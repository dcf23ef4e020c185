"""Topics that are transformed, and what their transforms make of each record, in Python.

They are in a run with ``--transforms``. What a transform keeps stays in its partition.
"""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro

from chaos.topics.chaos_topics import ChaosTopic, Writing
from chaos.topics.registry import schema

if TYPE_CHECKING:
    from replication.adapters.topics.record_reader import ConsumedRecord

# Many small transactions: a fault finds one under way.
_FEW = {"batch.records": "300"}  # offsets of a partition
_AVRO_HEAD = 5  # a byte 0 and the id of the schema


def avro(schema_id: int, number: int) -> bytes:
    """Return a record with the field ``number`` as Confluent's serializer writes it."""
    written = io.BytesIO()
    fastavro.schemaless_writer(written, _parsed(schema_id), {"number": number})
    return b"\0" + schema_id.to_bytes(4, "big") + written.getvalue()


def avro_number(value: bytes) -> int:
    """Return the number of such a record."""
    schema_id = int.from_bytes(value[1:_AVRO_HEAD], "big")
    encoded = io.BytesIO(value[_AVRO_HEAD:])
    found: Any = fastavro.schemaless_reader(encoded, _parsed(schema_id), None)
    return int(found["number"])


@cache
def _parsed(schema_id: int) -> Any:
    return fastavro.parse_schema(json.loads(schema(str(schema_id))))


def by_value(record: ConsumedRecord) -> ConsumedRecord | None:
    """Keep every value of an even length: no tombstones."""
    return record if record.value is not None and len(record.value) % 2 == 0 else None


def by_header(record: ConsumedRecord) -> ConsumedRecord | None:
    """Keep what has the header ``empty``."""
    return record if any(name == "empty" for name, _ in record.headers) else None


def by_number(record: ConsumedRecord) -> ConsumedRecord | None:
    """Keep every third record in Avro, and no tombstones."""
    value = record.value
    return record if value is not None and avro_number(value) % 3 == 0 else None


def masked(record: ConsumedRecord) -> ConsumedRecord | None:
    """Mask every value, as ``masking.mask`` does, and leave tombstones out."""
    return None if record.value is None else record._replace(value=b"****" + record.value[-4:])


TRANSFORMED = (
    ChaosTopic(
        "chaos-where",
        "lz4",
        writing=Writing.TRANSACTIONS,
        transform={"where": "length(value) % 2 = 0", **_FEW},
        made=by_value,
    ),
    ChaosTopic(
        "chaos-where-header",
        "zstd",
        age_days=3.0,
        transform={"where": "array_contains(headers.key, 'empty')", **_FEW},
        made=by_header,
    ),
    ChaosTopic(
        "chaos-where-avro",
        "gzip",
        partitions=3,
        avro=True,
        transform={"where": "value:number::bigint % 3 = 0", "value.format": "avro", **_FEW},
        made=by_number,
    ),
    ChaosTopic(
        "chaos-function",
        "none",
        linger_ms=1,
        transform={"function": f"{Path(__file__).with_name('masking.py')}:mask", **_FEW},
        made=masked,
    ),
)
