"""Which offsets of a transform's source and target belong together, noted once a minute.

Between batches nothing is open: all results of what the anchors have passed are on the target, and
no others. A verification compares what stands between two such points, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.offsets.offset_points import slot
from replication.state import TransformPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.state import Anchor, TransformStart

_MINUTE_MS = 60_000


def point_now(
    start: TransformStart | None,
    anchors: Mapping[TopicPartition, Anchor],
    last: TransformPoint | None,
    now_ms: int,
) -> TransformPoint | None:
    """Return the point to store, without target ends; None: there is nothing to note.

    ``last``: the one that was stored before. There is none while the position of a partition that
    has begun is unknown. Points thin out by their minute as offset points do by their number.
    """
    if start is None:
        return None
    minute = max(0, now_ms - start.began_ms) // _MINUTE_MS
    if last is not None and last.era == start.began_ms and last.minute >= minute:
        return None
    sources: dict[str, list[int | None]] = {}
    for topic, begins in start.sources.items():
        listed: list[int | None] = []
        for number, begin in enumerate(begins):
            anchor = anchors.get(TopicPartition(topic, number))
            if begin is not None and (anchor is None or anchor.source is None):
                return None
            listed.append(None if begin is None or anchor is None else anchor.source)
        sources[topic] = listed
    if sources == (start.sources if last is None else last.sources):
        return None
    flow, number, incarnation = start.flow, start.number, start.began_ms
    return TransformPoint(flow, number, slot(minute), incarnation, minute, sources, at_ms=now_ms)
