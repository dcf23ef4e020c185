"""Compares topics with their copies: record sizes, timestamps, retention. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, some
from replication.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SIZE, RETENTION, POLICY = "max.message.bytes", "retention.ms", "cleanup.policy"
TYPE, BEFORE, AFTER = (
    f"message.timestamp.{each}" for each in ("type", "before.max.ms", "after.max.ms")
)
# What the brokers' own setting of a topic config is called.
BROKER_NAMES = {
    SIZE: "message.max.bytes",
    RETENTION: "log.retention.ms",
    POLICY: "log.cleanup.policy",
    TYPE: "log.message.timestamp.type",
    BEFORE: "log.message.timestamp.before.max.ms",
    AFTER: "log.message.timestamp.after.max.ms",
}
_NEAR, _LATE = 0.5, 0.8  # of the retention: so much of it has passed for what is not copied yet


@dataclass(frozen=True, slots=True)
class CopiedTopic:
    """A topic and its copy: effective configs by Kafka's names; what is not known is left out."""

    topic: str
    source: Mapping[str, str]
    target: Mapping[str, str]  # also of a copy that does not exist yet
    oldest_ms: int | None = None  # timestamps of records on the source
    newest_ms: int | None = None
    behind_s: float | None = field(default=None)  # age of the oldest record that is not copied


def judge_topics(
    flow: str, topics: Sequence[CopiedTopic], now_ms: int
) -> Iterator[DiagnosisFinding]:
    """Yield findings about one flow's topics, and one that says so if there is none."""
    found = [
        *_sizes(topics),
        *_stamps(topics),
        *_too_old(topics, now_ms),
        *_too_new(topics, now_ms),
        *_shorter(topics),
        *_losing(topics),
    ]
    yield from (each._replace(where=f"flow {flow}") for each in found)
    if topics and not found:
        what = f"sizes, timestamps and retention of {len(topics)} topics agree with their copies"
        yield DiagnosisFinding(FindingLevel.OK, f"flow {flow}", "topics", what)


def _sizes(topics: Iterable[CopiedTopic]) -> Iterator[DiagnosisFinding]:
    rows = []
    for each in topics:
        theirs, ours = _number(each.source, SIZE), _number(each.target, SIZE)
        if theirs is not None and ours is not None and ours < theirs:
            rows.append(f"{each.topic} ({theirs:,} > {ours:,})")
    if rows:
        yield DiagnosisFinding(
            FindingLevel.WARNING,
            "",
            "message size",
            f"the source accepts larger batches than the target, in bytes: {some(rows)}",
            "raise max.message.bytes of the copies, or set topic.config.<topic>/max.message.bytes; "
            "on.refused says what happens to a batch that is too large",
        )


def _stamps(topics: Iterable[CopiedTopic]) -> Iterator[DiagnosisFinding]:
    changed = [
        each.topic
        for each in topics
        if each.target.get(TYPE) == "LogAppendTime" != each.source.get(TYPE, "CreateTime")
    ]
    if changed:
        what = f"the target replaces timestamps by its own time (LogAppendTime): {some(changed)}"
        to_do = f"set {TYPE} = CreateTime on the copies"
        yield DiagnosisFinding(FindingLevel.WARNING, "", "timestamps", what, to_do)


def _too_old(topics: Iterable[CopiedTopic], now_ms: int) -> Iterator[DiagnosisFinding]:
    rows = [
        f"{each.topic} ({_span(now_ms - each.oldest_ms)} > {_span(limit)})"
        for each in topics
        if each.oldest_ms is not None
        and (limit := _number(each.target, BEFORE)) is not None
        and now_ms - each.oldest_ms > limit
    ]
    if rows:
        what = f"the target refuses the oldest records, whose timestamps are too old: {some(rows)}"
        yield DiagnosisFinding(
            FindingLevel.ERROR, "", "timestamps", what, f"raise {BEFORE} of the copies"
        )


def _too_new(topics: Iterable[CopiedTopic], now_ms: int) -> Iterator[DiagnosisFinding]:
    rows = [
        f"{each.topic} ({_span(each.newest_ms - now_ms)} > {_span(limit)})"
        for each in topics
        if each.newest_ms is not None
        and (limit := _number(each.target, AFTER)) is not None
        and each.newest_ms - now_ms > limit
    ]
    if rows:
        what = f"the target refuses records whose timestamps lie in the future: {some(rows)}"
        to_do = f"raise {AFTER} of the copies, and set the producers' clocks right"
        yield DiagnosisFinding(FindingLevel.ERROR, "", "timestamps", what, to_do)


def _shorter(topics: Iterable[CopiedTopic]) -> Iterator[DiagnosisFinding]:
    rows = []
    for each in topics:
        theirs, ours = _retention(each.source), _retention(each.target)
        if ours is not None and (theirs is None or ours < theirs):
            rows.append(f"{each.topic} ({_kept(theirs)} > {_kept(ours)})")
    if rows:
        what = f"copies are deleted earlier than their originals: {some(rows)}"
        to_do = "set topic.config.<topic>/retention.ms, or the target's log.retention.ms"
        yield DiagnosisFinding(FindingLevel.WARNING, "", "retention", what, to_do)


def _losing(topics: Iterable[CopiedTopic]) -> Iterator[DiagnosisFinding]:
    """Yield topics of which the source soon deletes records that are not copied yet."""
    for level, least, most in (
        (FindingLevel.ERROR, _LATE, float("inf")),
        (FindingLevel.WARNING, _NEAR, _LATE),
    ):
        rows = [
            f"{each.topic} ({_span(each.behind_s * 1000)} of {_span(limit)})"
            for each in topics
            if each.behind_s is not None
            and (limit := _retention(each.source)) is not None
            and least <= each.behind_s * 1000 / max(limit, 1) < most
        ]
        if rows:
            what = f"the source deletes records before they are copied: backlog {some(rows)}"
            to_do = "raise retention.ms of the source's topics until the flow has caught up"
            yield DiagnosisFinding(level, "", "retention", what, to_do)


def _retention(configs: Mapping[str, str]) -> int | None:
    """Return how long records are kept, in ms; None: for ever, or it is not known."""
    if "delete" not in configs.get(POLICY, "delete"):
        return None
    found = _number(configs, RETENTION)
    return None if found is None or found < 0 else found


def _number(configs: Mapping[str, str], key: str) -> int | None:
    try:
        return int(configs[key])
    except (KeyError, ValueError):
        return None


def _kept(limit: int | None) -> str:
    return "for ever" if limit is None else _span(limit)


def _span(milliseconds: float) -> str:
    """Return a span in its largest unit: a day and more in whole days."""
    for unit in (86_400_000, 3_600_000, 60_000, 1000):
        if milliseconds >= unit:
            return format_duration(timedelta(milliseconds=int(milliseconds) // unit * unit))
    return format_duration(timedelta(milliseconds=int(milliseconds)))
