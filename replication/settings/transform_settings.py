"""The settings of transforms: what happens to the records of some topics on their way.

Apart from the other sections because the tasks that transform load it: without pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- the annotations are evaluated
from dataclasses import dataclass, field
from datetime import timedelta

BYTES, STRING, JSON, AVRO = "bytes", "string", "json", "avro"
STOP, DEAD_LETTER = "stop", "dead-letter"


@dataclass(frozen=True, slots=True)
class Written:
    """A text of the file, and the place of its line, for messages: ``file:line: key``."""

    text: str
    where: str = field(compare=False)  # a line that moved changes nothing


@dataclass(frozen=True, slots=True)
class PredicateSpec:
    """One of Connect's predicates, as ``predicates.<name>.*`` sets it."""

    name: str
    kind: Written  # the class
    settings: Mapping[str, Written]


@dataclass(frozen=True, slots=True)
class SmtSpec:
    """One of Connect's single message transforms, as ``transforms.<name>.*`` sets it."""

    name: str
    kind: Written  # the class
    settings: Mapping[str, Written]
    predicate: PredicateSpec | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class TopicTransform:
    """What happens to the records of the source topics whose whole name matches ``pattern``.

    ``where``, ``select`` and ``route`` are Spark SQL; ``function`` is ``module:name`` or
    ``<file>:name``; at most one of SQL, function and ``smts`` is set.
    """

    pattern: str  # a Java regex
    where: Written | None = None
    select: Written | None = None
    route: Written | None = None
    route_topics: tuple[str, ...] = ()
    function: Written | None = None
    folder: str = ""  # of the file: where a function's module may be, besides Python's path
    smts: tuple[SmtSpec, ...] = ()
    key_format: str = BYTES
    value_format: str = BYTES
    value_schema: Written | None = None
    on_error: str = STOP
    dead_letters_max: int = 100
    timeout: timedelta = field(default=timedelta(seconds=10))
    batch_records: int = 20_000

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
