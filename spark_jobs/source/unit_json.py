"""Unit specs and partition plans as JSON, passed from the driver to Spark's planner.

Values are parsed by the types of their fields, so a new field needs no change here. Both sides have
the same version: no JSON outlives the process.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from replication.copier.spec import UnitSpec
from replication.model import Choice, NameChange, PartitionPlan, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAN = tuple(each.name for each in fields(PartitionPlan))


def spec_text(spec: UnitSpec) -> str:
    """Return a spec as JSON text."""
    return json.dumps(asdict(spec), default=_seconds)


def spec_of(text: str) -> UnitSpec:
    """Return the spec whose ``spec_text`` is ``text``."""
    return _read(UnitSpec, json.loads(text))  # type: ignore[no-any-return] # the type of the first argument


def partition_table(partitions: Sequence[PartitionPlan]) -> dict[str, Any]:
    """Return plans as one table: there may be many thousands, so their fields are named once."""
    rows = [[getattr(each, name) for name in _PLAN] for each in partitions]
    return {"fields": _PLAN, "partitions": rows}


def partitions_of(table: Mapping[str, Any]) -> list[PartitionPlan]:
    """Return the plans in a table; none where there is no table."""
    names = table.get("fields", ())
    return [_plan(dict(zip(names, row, strict=True))) for row in table.get("partitions", ())]


def _plan(row: Mapping[str, Any]) -> PartitionPlan:
    """Return one plan. Not by ``_read``, which is slow: this runs per partition and epoch."""
    ends = {end: TopicPartition(*row[end]) for end in ("source", "target")}
    decision = Choice(*row["decision"]) if row["decision"] else None
    change = NameChange(*row["name_change"]) if row["name_change"] else None
    return PartitionPlan(**{**row, **ends, "decision": decision, "name_change": change})


def _seconds(value: object) -> float:
    if isinstance(value, timedelta):
        return value / timedelta(seconds=1)
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def _read(kind: Any, value: Any) -> Any:
    """Return the value of type ``kind`` whose JSON form is ``value``."""
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{name: _read(types[name], each) for name, each in value.items()})
    if kind is timedelta:
        return timedelta(seconds=value)
    if origin is tuple:
        return tuple(_read(arguments[0], each) for each in value)
    if origin is not None and len(arguments) == 2:
        return {_read(arguments[0], key): _read(arguments[1], value[key]) for key in value}
    return kind(value) if isinstance(kind, type) else value
