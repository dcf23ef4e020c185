"""Plans the takeover from MirrorMaker 2 and the return to it. Pure.

Nothing is copied again and nothing left out: a partition's position is MirrorMaker 2's own record
of it together with the proof that the copy's content gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.model import PartitionState, TopicPartition
from replication.state import Anchor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.mm2.proof import Proof
    from replication.records.comparison_result import Fingerprint

HANDED_BACK = "handed back to MirrorMaker 2"


@dataclass(frozen=True, slots=True)
class EndOffsets:
    """The current state of one partition on both sides. The ends are next offsets."""

    source: TopicPartition
    target: TopicPartition
    source_id: str
    target_id: str
    source_start: int
    source_end: int
    target_start: int
    target_end: int


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Continue at source offset ``next``."""

    ends: EndOffsets
    stored: int | None
    next: int
    how: str

    @property
    def beyond(self) -> int:
        """How many offsets behind the stored position are on the target already."""
        return self.next - (self.ends.source_start if self.stored is None else self.stored + 1)


@dataclass(frozen=True, slots=True)
class BeginNew:
    """MirrorMaker 2 has copied nothing of it: the flow begins it like any new partition."""

    ends: EndOffsets


@dataclass(frozen=True, slots=True)
class Unproven:
    """The content does not show where to continue."""

    ends: EndOffsets
    stored: int | None
    why: str


Step = TakeOver | BeginNew | Unproven


def decide(
    ends: EndOffsets,
    stored: int | None,
    copy: Sequence[Fingerprint],
    source: Sequence[Fingerprint],
    proof: Proof,
) -> Step:
    """Return what to do with a partition.

    ``copy`` is the end of the target's partition; ``source`` goes from before ``stored`` on.
    """
    if stored is None and (ends.target_end == 0 or ends.source_end == ends.source_start):
        return BeginNew(ends)
    begin = 0 if stored is None else stored + 1  # what is before it is on the target
    if proof.last is None and stored is not None and (gone := _gone(ends, stored, copy, source)):
        return TakeOver(ends, stored, begin, gone)
    if doubt := _doubt(ends, begin, copy, source, proof):
        return Unproven(ends, stored, doubt)
    return TakeOver(ends, stored, max((proof.last or 0) + 1, begin), _how(proof))


def _doubt(
    ends: EndOffsets,
    begin: int,
    copy: Sequence[Fingerprint],
    source: Sequence[Fingerprint],
    proof: Proof,
) -> str:
    """Say what contradicts that everything before ``begin`` is on the target; empty: nothing."""
    if ends.source_end < begin:
        return f"the source ends at {ends.source_end}: it was recreated"
    if not copy:
        return "the target's partition is empty"
    if proof.last is None:
        return "no record at the target's end matches a source record"
    if any(proof.last < each.offset < begin for each in source):
        return f"the target ends with source record {proof.last}, before the stored position"
    return ""


def _gone(
    ends: EndOffsets, stored: int, copy: Sequence[Fingerprint], source: Sequence[Fingerprint]
) -> str:
    """Say why nothing of the source can be on the target already; empty: something might.

    What the target ends with is not there any more, so all that is there comes after it: were any
    of it on the target, the target would end with it.
    """
    if ends.source_end == stored + 1:
        return "the source has no later record"
    if copy and source and source[0].offset > stored:  # retention took it, or compaction
        return "the source no longer has the target's last record; all its records are newer"
    return ""


def _how(proof: Proof) -> str:
    parts = [f"the target ends with source record {proof.last}"]
    if proof.runs > 1:
        parts = [f"the last source record on the target is {proof.last}"]
    if proof.foreign:
        parts.append(f"followed by {proof.foreign} records that the source does not have")
    if proof.ambiguous:
        parts.append(
            "contents repeat, so the earliest match is used: some records may be copied again"
        )
    return "; ".join(parts)


def explain(step: Step) -> str:
    """Return one line on ``step``."""
    where = f"{step.ends.source} -> {step.ends.target}"
    match step:
        case BeginNew():
            return f"{where}: no record was copied yet; copying starts at the first record"
        case Unproven(stored=stored, why=why):
            return f"{where}: {_stored(stored)}; not verified: {why}"
        case TakeOver(stored=stored, next=following, how=how, beyond=beyond):
            more = f", {beyond} more are on the target already" if beyond > 0 else ""
            left = step.ends.source_end - following
            return (
                f"{where}: {_stored(stored)}{more}; continues at {following} ({left} left): {how}"
            )


def _stored(stored: int | None) -> str:
    return "no stored position" if stored is None else f"stored position {stored}"


def anchor_after(flow: str, step: TakeOver, before: Anchor | None, now_ms: int) -> Anchor:
    """Return the anchor from which ``flow`` continues: a clean start behind all existing records.

    It cannot lead (invariant D): everything before ``next`` is on the target. It is clean (G):
    nobody of ours appends, and nobody else did while we looked.
    """
    ends = step.ends
    known = before or Anchor(flow, *ends.source, ends.target.topic, None, None)
    return Anchor(
        flow,
        *ends.source,
        ends.target.topic,
        step.next,
        ends.target_end,
        generation=known.generation,
        epoch=known.epoch,
        clean=True,
        records=known.records,
        bytes=known.bytes,
        lost=known.lost,
        state=PartitionState.WAITING,
        reason="taken over from MirrorMaker 2",
        source_topic_id=ends.source_id,
        target_topic_id=ends.target_id,
        source_end=ends.source_end,
        at_ms=now_ms,
        since=(step.next, ends.target_end),
    )


def handed_back(anchor: Anchor, following: int, now_ms: int) -> Anchor:
    """Return the anchor of a partition with which MirrorMaker 2 continues.

    The flow may not continue from here by itself: it would copy again what MirrorMaker 2 copies
    from now on. So its position is deliberately lost until the next takeover.
    """
    reason = f"{HANDED_BACK} at {following}: take it over with isthmus takeover --from-mm2 FILE"
    return replace(
        anchor,
        source=None,
        target=None,
        clean=True,
        appenders=(),
        state=PartitionState.POSITION_LOST,
        reason=reason,
        at_ms=now_ms,
    )
