"""Flows of former aliases: without a position, though their topics were copied before. Pure.

Positions are kept under the flow's name. With another alias for its source or its target a flow is
a new one, which copies from where new flows start. A topic's id shows that it is the same topic.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from replication.naming.selection import listed
from replication.state.backfill_names import is_backfill

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.naming.selection import TopicSelector
    from replication.state import Anchor


def former_flows(
    flow: str,
    selector: TopicSelector,
    theirs: Mapping[str, str],
    anchors: Iterable[Anchor],
    known: Collection[str],
) -> Iterator[str]:
    """Yield a warning for each flow that copied topics which ``flow``, without anchors, selects.

    ``theirs`` maps the source's topics to their ids, empty where unknown. ``known`` are the flows
    of the file: only others are former. A backfill and its stream copy the same topics on purpose.
    """
    if is_backfill(flow):
        return
    copied: dict[str, dict[str, str]] = defaultdict(dict)
    for each in anchors:
        is_same = each.source_topic_id == theirs.get(each.topic, "") != ""
        is_former = each.source is not None and each.flow not in known
        is_former = is_former and not is_backfill(each.flow)
        if is_same and is_former and selector.judge(each.topic).selected:
            copied[each.flow][each.topic] = each.target_topic
    for former, topics in sorted(copied.items()):
        old = [f"{topic} as {name}" for topic, name in sorted(topics.items())]
        new = [f"{topic} as {selector.remote_topic(topic)}" for topic in sorted(topics)]
        yield (
            f"{flow} has no position, although {former}, which is not in this file, copied the "
            f"same topics ({listed(old)}): {flow} copies them once more, as a new flow does "
            f"({listed(new)}). If only an alias changed, give the cluster its former one"
        )
