"""Group offsets as rows: compared, exported and imported as JSON or CSV. Pure."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from orchestration.flows.names import require_name
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import CommitGroup, Committed, LeaveGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import OffsetRange
    from replication.offsets.groups.consumer_groups import Positions
    from replication.offsets.groups.sync_round import SyncRound, TranslatedPosition

    Bounds = Mapping[TopicPartition, OffsetRange]
    _Waits = Mapping[tuple[str, TopicPartition], str]
    _Plan = tuple[Mapping[str, CommitGroup], Mapping[str, str], _Waits]


@dataclass(frozen=True, slots=True)
class GroupOffsetDifference:
    """A group's offset in one partition, on both sides, and the offset that a sync would set."""

    group: str
    partition: str  # on the target
    source_offset: int | None  # None: a transaction with it is open
    source_lag: int | None
    target_offset: int | None  # now; None: the group has none there
    translated: int | None  # None: not copied yet, or the action says why not
    target_lag: int | None  # after a sync
    action: str


@dataclass(frozen=True, slots=True)
class GroupExportRow:
    """A line of an export."""

    flow: str
    group: str
    source_topic: str
    target_topic: str
    partition: int
    source_offset: int | None
    target_offset: int | None
    exact: bool
    metadata: str
    problem: str = ""  # why there is no target offset; empty: there is, or it is not copied yet


def differences(
    found: SyncRound, now: Mapping[str, Positions], ends: tuple[Bounds, Bounds]
) -> list[GroupOffsetDifference]:
    """Return a line for each position. ``ends``: of the source's and the target's partitions."""
    sets = {each.group: each for each in found.actions if isinstance(each, CommitGroup)}
    left = {each.group: each.reason for each in found.actions if isinstance(each, LeaveGroup)}
    waits = {(each.group, each.where): each.reason for each in found.unknown}
    return [_difference(each, now, ends, (sets, left, waits)) for each in found.translated]


def _difference(
    moved: TranslatedPosition,
    now: Mapping[str, Positions],
    ends: tuple[Bounds, Bounds],
    plan: _Plan,
) -> GroupOffsetDifference:
    sets, left, waits = plan
    desired = sets[moved.group].positions.get(moved.target) if moved.group in sets else None
    there = now.get(moved.group, {}).get(moved.target)
    current = None if there is None else there.known
    if moved.problem:
        action = f"skip: {moved.problem}"
    elif moved.undecided:
        action = f"skip: {moved.undecided}"
    elif moved.group in left:
        action = f"skip: {left[moved.group]}"
    elif reason := waits.get((moved.group, moved.target)):
        action = f"skip: {reason}"
    elif moved.answer.offset is None:
        action = "not copied yet"
    else:
        action = "keep" if desired is None else "set"
    after = desired.offset if desired is not None else current
    return GroupOffsetDifference(
        moved.group,
        str(moved.target),
        moved.position.known,
        None if moved.problem else _lag(ends[0], moved.source, moved.position.known),
        current,
        moved.answer.offset if desired is None else desired.offset,
        _lag(ends[1], moved.target, after),
        action,
    )


def _lag(ends: Bounds, where: TopicPartition, offset: int | None) -> int | None:
    if offset is None or where not in ends:
        return None
    return max(0, ends[where].end - offset)


def rows_of(flow: str, moved: Iterable[TranslatedPosition]) -> list[GroupExportRow]:
    """Return an export's lines."""
    return [
        GroupExportRow(
            flow,
            each.group,
            each.source.topic,
            each.target.topic,
            each.source.partition,
            each.position.known,
            each.answer.offset,
            each.answer.exact,
            each.position.metadata,
            each.problem or each.undecided,
        )
        for each in moved
    ]


def as_csv(rows: Iterable[GroupExportRow]) -> str:
    """Return rows with a line of names above."""
    out = io.StringIO()
    writer = csv.DictWriter(
        out, [each.name for each in fields(GroupExportRow)], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(map(asdict, rows))
    return out.getvalue()


def desired_by(text: str, flow: str, where: str) -> dict[str, dict[TopicPartition, Committed]]:
    """Return the target positions that an export of ``flow`` sets, JSON or CSV.

    Raises ConfigError, naming ``where`` and the line, where no line is of ``flow``, and for an
    empty text. Lines of other flows, and those without an offset on the target, are left out.
    """
    desired: dict[str, dict[TopicPartition, Committed]] = {}
    flows: set[str] = set()
    for number, line in enumerate(_lines(text, where), 1):
        try:
            flows.add(str(line["flow"]))
            if line["flow"] != flow or line["target_offset"] in {None, ""}:
                continue
            partition = TopicPartition(str(line["target_topic"]), _natural(line, "partition"))
            offset = _natural(line, "target_offset")
            position = Committed(offset, str(line.get("metadata") or ""))
            desired.setdefault(str(line["group"]), {})[partition] = position
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"{where}: row {number} is not in the format of `isthmus offsets export FILE`: "
                f"{error}"
            ) from error
    if flows:
        require_name("flow", flow, sorted(flows), where)
    return desired


def _natural(line: Mapping[str, Any], name: str) -> int:
    """Return a number of 0 or more. Raises ValueError."""
    number = int(line[name])
    if number < 0 or (isinstance(line[name], float) and number != line[name]):
        raise ValueError(f"{name} is {line[name]}, but must be an integer of at least 0")
    return number


def _lines(text: str, where: str) -> list[dict[str, Any]]:
    if not text.strip():
        raise ConfigError(f"{where} is empty: write it with `isthmus offsets export FILE`")
    if not text.lstrip().startswith("["):
        return list(csv.DictReader(io.StringIO(text)))
    try:
        listed = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{where} is not valid JSON: {error}") from error
    return [each if isinstance(each, dict) else {} for each in listed]
