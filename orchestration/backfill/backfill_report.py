"""What a person reads of a backfill's plan. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.backfill.history import PartitionHistory


def plan_lines(plan: Sequence[PartitionHistory]) -> Iterator[str]:
    """Yield a line for each partition with history, and one for each topic that is refused."""
    refused: dict[tuple[str, str], int] = {}
    for each in plan:
        if each.refused:
            key = (each.source.topic, each.refused)
            refused[key] = refused.get(key, 0) + 1
            continue
        if each.end <= each.begin:
            continue
        done = f"; {each.begin} to {each.at} are copied" if each.at else ""
        where = f"{each.source} -> {each.target_topic}-{each.source.partition}"
        yield f"{where}: offsets [{each.begin}, {each.end}){done}"
    for (topic, reason), count in sorted(refused.items()):
        yield f"{topic}, {count} partitions: not copied: {reason}"


def plan_sentence(plan: Sequence[PartitionHistory]) -> str:
    """Return the plan in a line."""
    left = [each for each in plan if each.left]
    offsets = sum(each.left for each in left)
    refused = sum(bool(each.refused) for each in plan)
    more = f"; {refused} partitions are left out" if refused else ""
    return f"{offsets:,} offsets of {len(left)} partitions to copy{more}"


def plan_data(plan: Sequence[PartitionHistory]) -> list[dict[str, Any]]:
    """Return the plan as plain data; its keys are kept for scripts."""
    return [
        {
            "topic": each.source.topic,
            "partition": each.source.partition,
            "target": each.target_topic,
            "begin": each.begin,
            "end": each.end,
            "copied_to": each.at,
            "refused": each.refused,
        }
        for each in plan
    ]
