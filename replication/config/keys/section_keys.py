"""The keys that the sections of the settings declare, as tables by level.

Only the sections declare settings: see ``replication.settings.setting_key``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from replication.settings.copy_settings import CopySettings
from replication.settings.file_settings import (
    Alerts,
    BoundedJobs,
    DagsterSettings,
    SparkSettings,
    VerificationSettings,
)
from replication.settings.flow_settings import Flow
from replication.settings.metrics_settings import MetricsSettings
from replication.settings.mm2_settings import (
    Checkpoints,
    GroupSettings,
    Heartbeats,
    Mm2,
    OffsetSyncs,
)
from replication.settings.naming_settings import Naming, Selection
from replication.settings.otlp_settings import OtlpSettings
from replication.settings.setting_key import Key, KeyLevel
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import AclSync, ConfigSync, TopicCreation
from replication.settings.transform_settings import TopicTransform

SECTIONS: tuple[type, ...] = (
    Flow, Selection, Naming, TopicCreation, ConfigSync, AclSync, CopySettings, GroupSettings,
    Policies, Mm2, Heartbeats, OffsetSyncs, Checkpoints, SparkSettings, Alerts, DagsterSettings,
    MetricsSettings, OtlpSettings, BoundedJobs, VerificationSettings, TopicTransform,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SectionField:
    """A field that keys of the file set, the strongest key first; ``default``: without any."""

    name: str
    keys: tuple[Key, ...]
    default: Any


def fields_of(section: type) -> tuple[SectionField, ...]:
    """Return the fields of a section that have keys, in their order."""
    return _FIELDS[section]


def _read_fields(section: type) -> tuple[SectionField, ...]:
    hints = get_type_hints(section, include_extras=True)
    found = []
    for name, default in _defaults(section).items():
        annotation, *marks = get_args(hints[name]) or (hints[name],)
        keys = tuple(_with_choices(each, annotation) for each in marks if isinstance(each, Key))
        if keys:
            found.append(SectionField(name, keys, default))
    return tuple(found)


def field_of(section: type, name: str) -> SectionField:
    """Return one field of a section. Raises KeyError for one that has no key."""
    return {each.name: each for each in fields_of(section)}[name]


@cache
def known(level: KeyLevel) -> dict[str, Key]:
    """Return the keys of a level, by name. ``x.*`` is among them under that name."""
    return {
        key.name: key
        for section in SECTIONS
        for each in fields_of(section)
        for key in each.keys
        if key.level is level
    }


def _defaults(section: Any) -> dict[str, Any]:
    if issubclass(section, BaseModel):
        fields = section.model_fields
        return {name: each.get_default(call_default_factory=True) for name, each in fields.items()}
    return {
        each.name: each.default if each.default_factory is MISSING else each.default_factory()
        for each in dataclasses.fields(section)
    }


def _with_choices(key: Key, annotation: Any) -> Key:
    """Return a key whose kind names its choices, as the field's type does."""
    if key.kind != "choice" or get_origin(annotation) is not Literal:
        return key
    return dataclasses.replace(key, kind=f"choice {'|'.join(get_args(annotation))}")


_FIELDS = {section: _read_fields(section) for section in SECTIONS}
