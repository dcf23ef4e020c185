"""The settings of transforms: what happens to the records of some topics on their way.

Apart from the other sections because the tasks that transform load it: without pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- the annotations are evaluated
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from replication.settings.setting_key import Key, KeyLevel

BYTES, STRING, JSON, AVRO = "bytes", "string", "json", "avro"
STOP, DEAD_LETTER = "stop", "dead-letter"
_FORMATS = f"choice {BYTES}|{STRING}|{JSON}|{AVRO}"


@dataclass(frozen=True, slots=True)
class SettingText:
    """A text of the file, and the place of its line, for messages: ``file:line: key``."""

    text: str
    where: str = field(compare=False)  # a line that moved changes nothing


@dataclass(frozen=True, slots=True)
class PredicateSpec:
    """One of Connect's predicates, as ``predicates.<name>.*`` sets it."""

    name: str
    kind: SettingText  # the class
    settings: Mapping[str, SettingText]


@dataclass(frozen=True, slots=True)
class SmtSpec:
    """One of Connect's single message transforms, as ``transforms.<name>.*`` sets it."""

    name: str
    kind: SettingText  # the class
    settings: Mapping[str, SettingText]
    predicate: PredicateSpec | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class TopicTransform:
    """What happens to the records of the source topics whose whole name matches ``pattern``.

    ``where``, ``select`` and ``route`` are Spark SQL; ``function`` is ``module:name`` or
    ``<file>:name``; at most one of SQL, function and ``smts`` is set.
    """

    pattern: str  # a Java regex
    where: Annotated[
        SettingText | None,
        Key("where", "code",
            "Spark SQL: records for which it is true are kept (not those for which it is null)",
            level=KeyLevel.TRANSFORM),
    ] = None  # fmt: skip
    select: Annotated[
        SettingText | None,
        Key("select", "code",
            "Spark SQL: a list of `<expression> AS <column>`; columns that it does not name stay "
            "as they are. Columns: `key`, `value`, `headers`, `timestamp`, `partition`",
            level=KeyLevel.TRANSFORM),
    ] = None  # fmt: skip
    route: Annotated[
        SettingText | None,
        Key("route", "code",
            "Spark SQL: the name of a topic on the target, or an array of names; null: the "
            "topic's copy", level=KeyLevel.TRANSFORM),
    ] = None  # fmt: skip
    route_topics: Annotated[
        tuple[str, ...],
        Key("route.topics", "list",
            "the topics that `route` or a function may name; they must be on the target",
            level=KeyLevel.TRANSFORM),
    ] = ()  # fmt: skip
    function: Annotated[
        SettingText | None,
        Key("function", "code",
            "`module:name`, or `<file>:name` for a Python file next to the properties file. "
            "`transform = …` sets it for all topics", level=KeyLevel.TRANSFORM),
    ] = None  # fmt: skip
    folder: str = ""  # of the file: where a function's module may be, besides Python's path
    smts: tuple[SmtSpec, ...] = ()
    key_format: Annotated[
        str,
        Key("key.format", _FORMATS,
            "what SQL sees of a key: `bytes`, `string`, `json` or [`avro`](#avro); with `json` "
            "single message transforms find fields", level=KeyLevel.TRANSFORM),
    ] = BYTES  # fmt: skip
    value_format: Annotated[
        str,
        Key("value.format", _FORMATS, "the same of a value", level=KeyLevel.TRANSFORM),
    ] = BYTES  # fmt: skip
    value_schema: Annotated[
        SettingText | None,
        Key("value.schema", "code",
            "the fields of a value in JSON or Avro, such as `amount INT, country STRING`: `value` "
            "is a struct then, else a VARIANT (`value:amount::int`)", level=KeyLevel.TRANSFORM),
    ] = None  # fmt: skip
    on_error: Annotated[
        str,
        Key("on.error", f"choice {STOP}|{DEAD_LETTER}", "`stop` or `dead-letter`, see below",
            level=KeyLevel.TRANSFORM),
    ] = STOP  # fmt: skip
    dead_letters_max: Annotated[
        int,
        Key("dead.letters.max", "int", "dead letters of a partition; the next one halts it",
            least=0, level=KeyLevel.TRANSFORM),
    ] = 100  # fmt: skip
    timeout: Annotated[
        timedelta,
        Key("timeout.ms", "duration", "how long a function may take for a batch",
            level=KeyLevel.TRANSFORM),
    ] = timedelta(seconds=10)  # fmt: skip
    batch_records: Annotated[
        int,
        Key("batch.records", "int", "offsets of a partition in one batch", least=1,
            level=KeyLevel.TRANSFORM),
    ] = 20_000  # fmt: skip

    @property
    def is_sql(self) -> bool:
        """Whether Spark SQL does it."""
        return bool(self.where or self.select or self.route)

    @property
    def first_line(self) -> str:
        """The place in the file of the first thing that it does."""
        kinds = (each.kind for each in self.smts)
        listed = (self.where, self.select, self.route, self.function, *kinds)
        return next(each.where for each in listed if each is not None)
