"""kafka-python's requests as frames, and their responses as it decodes them. Pure.

It decodes an array that must not be null as None where a response says so, and takes a truncated
string for a shorter one. What the schema forbids is refused here, so that no caller meets it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from replication.adapters.wire.fetch_produce_codec import MALFORMED

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAMAGED = (*MALFORMED, TypeError, OverflowError, AttributeError)  # raised by its generated code


def encode(request: Any, version: int, correlation: int, client_id: str) -> bytes:
    """Return the request with header and size."""
    request.API_VERSION = version
    request.with_header(correlation_id=correlation, client_id=client_id)
    return bytes(request.encode(version=version, header=True, framed=True))


def decode(request: Any, frame: memoryview) -> Any:
    """Return the response to an encoded ``request``. Raises ValueError for a damaged one."""
    version = request.API_VERSION
    response = request.header.get_response_class()
    try:
        answer = response.decode(frame, version=version, header=True)
    except _DAMAGED as damage:
        raise ValueError(f"{request.name}: {damage}") from damage
    for name in _null_arrays(answer, response[None], version):
        raise ValueError(f"{request.name}: {name} is null")
    return answer


def _null_arrays(item: Any, kind: Any, version: int) -> Iterator[str]:
    """Yield the names of arrays that are null and must not be."""
    for field, nested, may_be_null in _arrays(kind, version):
        listed = getattr(item, field)
        if listed is None:
            if not may_be_null:
                yield field
        elif nested is not None:
            for each in listed:
                yield from _null_arrays(each, nested, version)


@functools.lru_cache(256)
def _arrays(kind: Any, version: int) -> tuple[tuple[str, Any, bool], ...]:
    """Return name, element class and nullability of the arrays in a struct; None: of no structs."""
    fields = kind._struct.fields.values()
    return tuple(
        (
            each.name,
            each.data_class if each.is_struct_array() else None,
            each.nullable_for_version_q(version),
        )
        for each in fields
        if (each.is_array() or each.is_struct_array()) and each.for_version_q(version)
    )
