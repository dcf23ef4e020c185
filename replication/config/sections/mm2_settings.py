"""Builds the settings of MirrorMaker 2's heartbeats, checkpoints, offset syncs and state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.keys.section_keys import field_of
from replication.config.sections.task_settings import NEVER
from replication.settings.mm2_settings import Checkpoints, Heartbeats, Mm2, OffsetSyncs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.file.properties import Value
    from replication.config.sections.flows import Pair
    from replication.config.sections.section_reader import Reader

_HEARTBEATS = "emit.heartbeats.enabled"


def read_mm2(
    read: Reader, worker: Reader, props: Mapping[str, Value], pair: Pair, *, reverse: bool
) -> Mm2:
    """Return the section. ``reverse``: the file has a flow of the reverse direction."""
    return worker.section(
        Mm2,
        heartbeats=_heartbeats(read, back=not reverse and _asked_back(props, pair)),
        syncs=_syncs(read),
        checkpoints=_checkpoints(read),
    )


def _heartbeats(read: Reader, *, back: bool) -> Heartbeats:
    found = read.section(Heartbeats)
    ever = found.every > NEVER
    return found.model_copy(update={"enabled": found.enabled and ever, "back": back and ever})


def _syncs(read: Reader) -> OffsetSyncs:
    """Return the section; a location that is named asks for them too."""
    has_location = "offset-syncs.topic.location" in read.props
    enabled = read.value(replace(field_of(OffsetSyncs, "enabled"), default=has_location))
    return read.section(OffsetSyncs, enabled=enabled)


def _checkpoints(read: Reader) -> Checkpoints:
    found = read.section(Checkpoints)
    enabled = found.enabled and found.every > NEVER
    return found.model_copy(update={"enabled": enabled})


def _asked_back(props: Mapping[str, Value], pair: Pair) -> bool:
    """Whether the file enables heartbeats of the reverse direction, which are on the source.

    MirrorMaker 2 writes them unless it is disabled; we never write to a source that we only read.
    """
    source, target = pair
    setting = props.get(f"{target}->{source}.{_HEARTBEATS}") or props.get(_HEARTBEATS)
    return setting is not None and setting.parsed is True
