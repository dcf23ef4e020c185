"""Which history a backfill copies: what stands before the first record of a stream. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.offsets.offset_map import has_lost_first, sync_points_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import Anchor, OffsetPoint


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """The offsets ``[begin, end)`` of a source partition; the stream has copied from ``end`` on.

    ``at``: up to where a backfill has copied it. ``refused``: why nothing of it is copied.
    """

    source: TopicPartition
    target_topic: str
    begin: int = 0
    end: int = 0
    at: int | None = None
    refused: str = ""

    @property
    def left(self) -> int:
        """Offsets that are still to be copied."""
        return 0 if self.refused else max(0, self.end - max(self.begin, self.at or 0))


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What decides whether the history of a topic may stand behind its stream."""

    cleanup_policies: tuple[str, ...] = ()  # at the source and on the target
    transformed: bool = False
    kept_apart: bool = False  # it holds copies of other clusters, which flows tell apart
    stamped: bool = False  # provenance.headers


def objection_to(facts: TopicFacts) -> str:
    """Return why a topic is not backfilled; empty: it is."""
    objections = {
        "it is compacted: an older value would follow a newer one": any(
            "compact" in each for each in facts.cleanup_policies
        ),
        "it is transformed": facts.transformed,
        "it holds copies of other clusters, which a backfill cannot recognize": facts.kept_apart,
        "provenance.headers would name the backfill's alias": facts.stamped,
    }
    return next((why for why, holds in objections.items() if holds), "")


def handed_over(anchor: Anchor, points: Iterable[OffsetPoint]) -> int | str:
    """Return the source offset of the stream's first record, or why it is not known.

    The point at which a copy began is stored for ever; offsets before it were never copied.
    """
    known = tuple(points)
    first = next(iter(sync_points_of(known, anchor)), None)
    if first is None:
        return "the stream has not begun to copy it"
    if anchor.since is not None:
        return "another copier, or a copy under another name, wrote what was before"
    if first.records or has_lost_first(known, anchor):
        return "where the flow began to copy it is unknown: the oldest offset mapping is lost"
    return first.source


def history_of(
    anchor: Anchor, end: int | str, begin: int | None, at: int | None, objection: str
) -> PartitionHistory:
    """Return what a backfill copies of a partition.

    ``end``: see ``handed_over``. ``begin``: the first offset that is wanted and there; None: no
    record is as young as that. ``at``: the position of an earlier run. ``objection``: why the topic
    cannot be backfilled; empty: it can.
    """
    where = TopicPartition(anchor.topic, anchor.partition)
    refused = objection or (end if isinstance(end, str) else "")
    if refused or isinstance(end, str):
        return PartitionHistory(where, anchor.target_topic, refused=refused)
    first = end if begin is None else min(begin, end)
    return PartitionHistory(where, anchor.target_topic, first, end, at)
