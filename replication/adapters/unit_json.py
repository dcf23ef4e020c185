"""Unit specs, reports and partition plans as JSON, for the processes of one driver.

The driver passes them to Spark's planner, and Spark tasks to each other (``unit_sockets``). Reading
them makes values of the fields' types and runs nothing else, which a pickle could. A new field
needs no change here. Both sides have the same version: no JSON outlives the driver.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from replication.copier.spec import UnitReport, UnitSpec
from replication.model import PartitionPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PLAN = tuple(each.name for each in fields(PartitionPlan))
_MICROSECOND = timedelta(microseconds=1)
_WRONG = (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def spec_text(spec: UnitSpec) -> str:
    """Return a spec as JSON text."""
    table = partition_table(spec.partitions)
    plain = asdict(replace(spec, partitions=()))
    return json.dumps({**plain, "partitions": table}, default=_microseconds)


def spec_of(text: str | bytes) -> UnitSpec:
    """Return the spec whose ``spec_text`` is ``text``. Raises ValueError: it is none's."""
    content = _mapping(_parsed(text))
    partitions = tuple(partitions_of(_mapping(content.get("partitions"))))
    spec: UnitSpec = _made(_SPEC, {**content, "partitions": []})
    return replace(spec, partitions=partitions)


def report_text(report: UnitReport) -> str:
    """Return a report as JSON text."""
    return json.dumps(asdict(report))


def report_of(text: str | bytes) -> UnitReport:
    """Return the report whose ``report_text`` is ``text``. Raises ValueError: it is none's."""
    report: UnitReport = _made(_REPORT, _parsed(text))
    return report


def partition_table(partitions: Sequence[PartitionPlan]) -> dict[str, Any]:
    """Return plans as one table: there may be many thousands, so their fields are named once."""
    rows = [[getattr(each, name) for name in _PLAN] for each in partitions]
    return {"fields": _PLAN, "partitions": rows}


def partitions_of(table: Mapping[str, Any]) -> list[PartitionPlan]:
    """Return the plans in a table; none where there is no table. Raises ValueError."""
    return _made(_plans, table)  # type: ignore[no-any-return] # what _plans returns


def _plans(table: Mapping[str, Any]) -> list[PartitionPlan]:
    names = table.get("fields", ())
    makers = [_COLUMNS[name] for name in names]

    def cells(row: Sequence[Any]) -> Iterator[Any]:
        return (made(cell) for made, cell in zip(makers, row, strict=True))

    rows = table.get("partitions", ())
    return [PartitionPlan(**dict(zip(names, cells(row), strict=True))) for row in rows]


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} where an object is expected")  # noqa: TRY004 - wrong text
    return value


def _made(maker: Callable[[Any], Any], value: Any) -> Any:
    try:
        return maker(value)
    except _WRONG as error:
        raise ValueError(f"not the expected JSON: {error}") from None


def _microseconds(value: object) -> int:
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def _maker(kind: Any) -> Callable[[Any], Any]:
    """Return what makes a value of type ``kind`` of its JSON form, or raises."""
    origin, arguments = get_origin(kind), get_args(kind)
    if type(None) in arguments:
        inner = _maker(next(each for each in arguments if each is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        each_of = _maker(arguments[0])
        return lambda value: tuple(map(each_of, _exactly(list, value)))
    if origin is not None and issubclass(origin, Mapping):
        key_of, value_of = _KEYS[arguments[0]], _maker(arguments[1])
        return lambda value: {key_of(k): value_of(v) for k, v in _mapping(value).items()}
    if isinstance(kind, type) and is_dataclass(kind):
        makers = {name: _maker(each) for name, each in get_type_hints(kind).items()}
        return lambda value: kind(**{name: makers[name](v) for name, v in _mapping(value).items()})
    if issubclass(kind, tuple):  # a NamedTuple
        parts = [_maker(each) for each in get_type_hints(kind).values()]
        return lambda value: kind(*(made(v) for made, v in zip(parts, value, strict=True)))
    return _SCALARS[kind]


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} where {kind.__name__} is expected")
    return value


def _number(value: Any) -> float:
    return float(value) if type(value) is int else float(_exactly(float, value))


_SCALARS: Mapping[type, Callable[[Any], Any]] = {
    str: lambda value: _exactly(str, value),
    int: lambda value: _exactly(int, value),
    bool: lambda value: _exactly(bool, value),
    float: _number,
    timedelta: lambda value: _exactly(int, value) * _MICROSECOND,
}
_KEYS: Mapping[type, Callable[[str], Any]] = {str: str, int: int}  # JSON's keys are text
_SPEC, _REPORT = _maker(UnitSpec), _maker(UnitReport)
_COLUMNS = {name: _maker(kind) for name, kind in get_type_hints(PartitionPlan).items()}
