"""Reads the transforms of a flow: ``transform.*``, and Connect's with their predicates.

``transform.<topic regex>/<what>`` is for some topics, ``transform.<what>`` for all of the flow.
Options of all topics hold for those of a pattern too; what is done to records does not.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.file import values
from replication.config.keys.own_keys import TRANSFORM, TRANSFORM_OPTIONS
from replication.config.keys.section_keys import fields_of
from replication.errors import ConfigError
from replication.naming.java_regex import Untranslatable, compile_rules
from replication.settings.transform_settings import (
    AVRO,
    JSON,
    PredicateSpec,
    SettingText,
    SmtSpec,
    TopicTransform,
)
from replication.transforms.smt.chain import Chain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from replication.config.file.findings import Notes
    from replication.config.file.properties import Value
    from replication.config.sections.section_reader import Reader

_ALL = ".*"
_SQL = ("where", "select", "route")
_DONE = {*_SQL, "route.topics", "function"}  # to records; all else is an option of that


def read_transforms(read: Reader, notes: Notes) -> tuple[TopicTransform, ...]:
    """Return the flow's transforms, in the order in which a topic's is looked for."""
    by_pattern = _by_pattern(read, notes)
    smts = _smts(read, notes)
    general = by_pattern.pop(_ALL, {})
    options = {what: each for what, each in general.items() if what not in _DONE}
    patterns = {pattern: {**options, **own} for pattern, own in by_pattern.items()}
    if smts or general.keys() - options.keys():
        patterns[_ALL] = general
    found = (
        _transform(read, pattern, own, smts if pattern == _ALL else (), notes)
        for pattern, own in patterns.items()
    )
    return tuple(each for each in found if each is not None)


def _by_pattern(read: Reader, notes: Notes) -> dict[str, dict[str, Value]]:
    """Return what ``transform.*`` says, by pattern of topics, in the order of the file."""
    found: dict[str, dict[str, Value]] = defaultdict(dict)
    for key, value in sorted(read.props.items(), key=lambda each: each[1].line):
        if key == TRANSFORM.removesuffix("."):
            found[_ALL]["function"] = value
        if not key.startswith(TRANSFORM):
            continue
        pattern, _, what = key.removeprefix(TRANSFORM).rpartition("/")
        if what not in TRANSFORM_OPTIONS:
            known = f"one of {', '.join(TRANSFORM_OPTIONS)}"
            notes.error(value.at, f"has no {what or 'name'} to set", known)
            continue
        try:
            compile_rules((pattern or _ALL,))
        except Untranslatable as error:
            notes.error(value.at, str(error), "write a pattern that Java and Python both know")
            continue
        read.note(key, value.text.strip(), value)
        found[pattern or _ALL][what] = value
    return found


def _transform(
    read: Reader,
    pattern: str,
    own: Mapping[str, Value],
    smts: tuple[SmtSpec, ...],
    notes: Notes,
) -> TopicTransform | None:
    """Return one transform; None, after notes, where it is wrong by what the file alone says."""
    sql = [own[what] for what in _SQL if what in own]
    doing = [*sql[:1], *([own["function"]] if "function" in own else [])]
    if len(doing) + bool(smts) > 1:
        notes.error(doing[-1].at, "cannot be combined with the flow's other kind of transform",
                    "choose where/select/route, function or transforms")  # fmt: skip
        return None
    if not (doing or smts):
        first = next(iter(own.values()))
        notes.error(first.at, "sets an option of a transform that does nothing", "add a where")
        return None
    if "route" in own and "route.topics" not in own:
        notes.error(own["route"].at, "has no list of the topics that it may name",
                    f"{own['route'].key}.topics = first, second")  # fmt: skip
        return None
    transform = TopicTransform(
        pattern=pattern,
        folder=str(read.file.parent.absolute()),
        smts=smts,
        **dict(_settings_of(read, own)),
    )
    schema = own.get("value.schema")
    if schema is not None and transform.value_format not in (JSON, AVRO):
        notes.error(schema.at, "has no effect on a value that is neither JSON nor Avro",
                    "set value.format = json")  # fmt: skip
    for what in ("key.format", "value.format"):
        if what in own and own[what].parsed == AVRO:
            _check_avro(read, transform, own[what], notes)
    return _checked(transform, notes)


def _check_avro(read: Reader, transform: TopicTransform, value: Value, notes: Notes) -> None:
    if not transform.is_sql:
        notes.error(value.at, "is for Spark SQL: functions and single message transforms get bytes",
                    "write where, select or route, or remove it")  # fmt: skip
    elif "schema.registry.url" not in read.props:
        notes.error(value.at, "needs a schema registry", "schema.registry.url = https://host:8081")


def _checked(transform: TopicTransform, notes: Notes) -> TopicTransform | None:
    try:
        Chain(transform)
    except ConfigError as error:
        where, _, message = str(error).partition(": ")
        line = where.rpartition(":")[2]
        notes.error(("", int(line) if line.isdigit() else 0), message)
        return None
    return transform


def _settings_of(read: Reader, own: Mapping[str, Value]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that a file sets; a wrong value, which was noted, leaves the default."""
    for field in fields_of(TopicTransform):
        (key,) = field.keys
        value = own.get(key.name)
        if value is not None and value.parsed is not None:
            yield field.name, _written(read, value) if key.kind == "code" else value.parsed


def _smts(read: Reader, notes: Notes) -> tuple[SmtSpec, ...]:
    listed = read.props.get("transforms")
    names = values.items(listed.text) if listed is not None else ()
    for key, value in read.props.items():
        head, _, rest = key.partition(".")
        if head == "transforms" and rest and not any(rest.startswith(f"{n}.") for n in names):
            notes.warn(value.at, "has no effect: transforms does not list it")
    if listed is not None:
        read.note("transforms", listed.text.strip(), listed)
    found = (_smt(read, name, listed, notes) for name in names if listed is not None)
    return tuple(each for each in found if each is not None)


def _smt(read: Reader, name: str, listed: Value, notes: Notes) -> SmtSpec | None:
    settings = _settings(read, f"transforms.{name}.")
    kind, predicate = settings.pop("type", None), settings.pop("predicate", None)
    negate = settings.pop("negate", None)
    if kind is None:
        notes.error(listed.at, f"names {name}, which has no transforms.{name}.type", "set it")
        return None
    spec = SmtSpec(name, kind, settings, negate=negate is not None and _is_true(negate, notes))
    if predicate is None:
        return spec
    of_predicate = _settings(read, f"predicates.{predicate.text}.")
    test = of_predicate.pop("type", None)
    if test is None:
        notes.error((f"transforms.{name}.predicate", _line(predicate)),
                    f"names {predicate.text}, which has no predicates.{predicate.text}.type",
                    "set it")  # fmt: skip
        return None
    return replace(spec, predicate=PredicateSpec(predicate.text, test, of_predicate))


def _is_true(written: SettingText, notes: Notes) -> bool:
    try:
        return values.boolean(written.text)
    except ValueError as error:
        key = written.where.rpartition(": ")[2]
        notes.error((key, _line(written)), str(error), "write true or false")
        return False


def _settings(read: Reader, start: str) -> dict[str, SettingText]:
    return {
        key.removeprefix(start): _written(read, value)
        for key, value in read.props.items()
        if key.startswith(start)
    }


def _written(read: Reader, value: Value) -> SettingText:
    return SettingText(value.text.strip(), f"{read.file}:{value.line}: {value.key}")


def _line(written: SettingText) -> int:
    return int(written.where.split(": ")[0].rpartition(":")[2])
