"""Applies the SMTs of ``transforms`` in order, each where its predicate, or the negation, holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from replication.errors import ConfigError
from replication.settings.transform_settings import JSON
from replication.transforms.smt.catalogue import PREDICATES, SMTS, simple_name
from replication.transforms.smt.message import CannotTransform, Message
from replication.transforms.transformed_record import SAME_PARTITION, PoisonRecord, TargetRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.settings.transform_settings import SettingText, SmtSpec, TopicTransform
    from replication.transforms.smt.catalogue import SmtClass
    from replication.transforms.smt.field_smts import Apply
    from replication.transforms.smt.predicates import Test
    from replication.transforms.transformed_record import SourceRecord

Made = TypeVar("Made")


class _Stage(NamedTuple):
    name: str
    apply: Apply
    test: Test | None
    negate: bool
    reads: frozenset[str]
    writes: frozenset[str]


class Chain:
    """The transforms of ``transforms``, in their order. Raises ConfigError with ``file:line``."""

    def __init__(self, transform: TopicTransform) -> None:
        formats = {"key": transform.key_format, "value": transform.value_format}
        self._stages = tuple(_stage(each, formats) for each in transform.smts)
        # What of a record decides on its result, besides its topic, and what of it changes.
        self.reads = frozenset[str]().union(*(each.reads for each in self._stages))
        self.writes = frozenset[str]().union(*(each.writes for each in self._stages))

    def apply(self, topic: str, record: SourceRecord) -> TargetRecord | PoisonRecord | None:
        """Return the record to write; None: it is filtered out. ``topic``: as on the target.

        It keeps its partition, whatever its key and topic become, as in MirrorMaker 2.
        """
        message = Message.of(topic, record)
        for stage in self._stages:
            if stage.test is not None and stage.test(message) is stage.negate:
                continue
            try:
                if not stage.apply(message):
                    return None
            except CannotTransform as problem:
                return PoisonRecord(record, f"transforms.{stage.name}: {problem}")
        return TargetRecord(
            message.topic,
            SAME_PARTITION,
            message.timestamp,
            message.key,
            message.value,
            message.headers,
        )


def _stage(spec: SmtSpec, formats: Mapping[str, str]) -> _Stage:
    known = _known(SMTS, spec.kind, "single message transform")
    if known.fields and formats[known.fields] != JSON:
        raise ConfigError(
            f"{spec.kind.where}: {spec.kind.text} reads fields, and the {known.fields} is bytes, "
            f"on which it fails in MirrorMaker 2 too → transform.{known.fields}.format = json"
        )
    apply = _made(known, spec.settings, spec.kind)
    if spec.predicate is None:
        return _Stage(spec.name, apply, None, negate=False, reads=known.reads, writes=known.writes)
    predicate = spec.predicate
    found = _known(PREDICATES, predicate.kind, "predicate")
    test = _made(found, predicate.settings, predicate.kind)
    # Where the predicate says no, what would be written stays.
    reads = known.reads | known.writes | found.reads
    return _Stage(spec.name, apply, test, spec.negate, reads, known.writes)


def _known(catalogue: Mapping[str, SmtClass[Made]], kind: SettingText, what: str) -> SmtClass[Made]:
    name = simple_name(kind.text)
    if name not in catalogue:
        raise ConfigError(
            f"{kind.where}: {kind.text} is not a {what} that Isthmus has → one of "
            f"{', '.join(catalogue)}, or transform.function for one of your own"
        )
    return catalogue[name]


def _made(known: SmtClass[Made], settings: Mapping[str, SettingText], kind: SettingText) -> Made:
    for name in known.needed:
        if name not in settings:
            raise ConfigError(f"{kind.where}: {kind.text} needs the setting {name}")
    for name, value in settings.items():
        if name not in (*known.needed, *known.more):
            raise ConfigError(f"{value.where}: {kind.text} has no setting {name}")
    try:
        return known.make({name: each.text for name, each in settings.items()})
    except ValueError as error:
        where = next((each.where for each in settings.values()), kind.where)
        raise ConfigError(f"{where}: {error}") from None
