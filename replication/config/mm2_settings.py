"""Build what a flow writes in MirrorMaker 2's formats, and where MirrorMaker 2 keeps its state."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.config import values
from replication.config.duty_settings import NEVER, interval
from replication.config.model import Checkpoints, Heartbeats, Mm2, OffsetSyncs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.config.flows import Pair
    from replication.config.properties import Value
    from replication.config.reading import Reader

_LEAST = timedelta(milliseconds=100)
_BEATS = "emit.heartbeats.enabled"
_SYNCS = "emit.offset-syncs.enabled"
_LOCATION = "offset-syncs.topic.location"


def read_mm2(
    read: Reader, worker: Reader, props: Mapping[str, Value], pair: Pair, *, reverse: bool
) -> Mm2:
    """Return the section. ``reverse``: the file has a flow of its own for the way back."""
    beats = interval(read, "emit.heartbeats.interval.seconds", timedelta(seconds=1))
    checks = interval(read, "emit.checkpoints.interval.seconds", timedelta(seconds=60))
    return Mm2(
        heartbeats=Heartbeats(
            enabled=read.boolean(_BEATS, default=True) and beats > NEVER,
            every=max(beats, _LEAST),
            replication_factor=_factor(read, "heartbeats"),
            back=not reverse and _asked_back(props, pair) and beats > NEVER,
        ),
        syncs=OffsetSyncs(
            enabled=read.boolean(_SYNCS, default=_LOCATION in read.props),
            location=read.choice(_LOCATION, "source", "source|target"),
            replication_factor=_factor(read, "offset-syncs"),
        ),
        checkpoints=Checkpoints(
            enabled=read.boolean("emit.checkpoints.enabled", default=True) and checks > NEVER,
            every=max(checks, _LEAST),
            replication_factor=_factor(read, "checkpoints"),
        ),
        offsets_topic=worker.text("offset.storage.topic", ""),
        worker_group=worker.text("group.id", ""),
    )


def _factor(read: Reader, topic: str) -> int:
    return read.whole(f"{topic}.topic.replication.factor", 3, least=-1)


def _asked_back(props: Mapping[str, Value], pair: Pair) -> bool:
    """Say whether the file itself asks for heartbeats of the way back: they stand on the source.

    MirrorMaker 2 writes them unless it is told not to; a source that we only read stays unwritten.
    """
    source, target = pair
    asked = props.get(f"{target}->{source}.{_BEATS}") or props.get(_BEATS)
    try:
        return asked is not None and values.boolean(asked.text)
    except ValueError:
        return False  # reported when the file was checked
