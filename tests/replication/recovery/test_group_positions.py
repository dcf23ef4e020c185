"""Where groups continue when their source is gone: never too far, and exactly where it is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.model import Mode, TopicPartition
from replication.offsets.known_points import KnownPoints
from replication.offsets.offset_map import POINTS_LOST
from replication.offsets.offset_points import OffsetPoints
from replication.recovery.group_positions import GroupPosition, group_positions, target_offset
from replication.state import Anchor, GroupPositions, OffsetPoint, ProvenPosition

FIRST = Anchor("A->B", "t", 0, "t", 0, 0, mode=Mode.APPEND, isolation="read_committed", clean=True)


@dataclass
class Copied:
    """Both logs as lists: of source offsets that are records, and whose the target's are."""

    source_end: int = 0
    records: list[tuple[int, int]] = field(default_factory=list)  # source offset, target offset
    target_end: int = 0
    points: dict[int, OffsetPoint] = field(default_factory=dict)
    anchor: Anchor = FIRST
    noted: OffsetPoints = field(default_factory=lambda: OffsetPoints.of(FIRST))

    def step(self, kind: str) -> None:
        match kind:
            case "copy":
                self.records.append((self.source_end, self.target_end))
                self.source_end += 1
                self.target_end += 1
            case "gap":
                self.source_end += 1
            case "foreign":
                self.target_end += 1
            case _:
                self.note()

    def note(self) -> None:
        self.anchor = self.noted.note(
            replace(
                FIRST,
                source=self.source_end,
                target=self.target_end,
                records=len(self.records),
                clean=False,
            )
        )
        self.points.update((each.slot, each) for each in self.noted.pending)
        self.noted.pending.clear()


steps = st.lists(st.sampled_from(["copy", "copy", "copy", "gap", "foreign", "note"]), max_size=80)


@given(steps, st.booleans(), st.data())
def test_no_record_is_skipped_and_no_more_are_read_again_than_it_says(steps, clean, data):
    logs = Copied()
    logs.note()
    for each in steps:
        logs.step(each)
    if clean:
        logs.note()
    anchor = replace(logs.anchor, clean=clean)
    behind = [each for each in logs.records if each[0] >= (anchor.source or 0)]
    end = ProvenPosition.behind(anchor, "", len(behind), behind[-1][1] + 1 if behind else None)
    offset = data.draw(st.integers(0, logs.source_end + 3))
    found, again, problem = target_offset(offset, logs.points.values(), anchor, end)
    assert found is not None
    assert not problem
    unread = [target for source, target in logs.records if source >= offset]
    assert found <= min(unread, default=logs.target_end)
    read_before = [t for s, t in logs.records if s < offset and t >= found]
    assert len(read_before) <= again


def straight(records: int, *, clean: bool = True) -> tuple[Copied, Anchor]:
    logs = Copied()
    logs.note()
    for _ in range(records):
        logs.step("copy")
    logs.note()
    return logs, replace(logs.anchor, clean=clean)


@pytest.mark.parametrize("offset", [0, 1, 50, 99, 100])
def test_on_a_log_without_gaps_every_offset_is_exact(offset):
    logs, anchor = straight(100)
    assert target_offset(offset, logs.points.values(), anchor, ProvenPosition.behind(anchor)) == (
        offset,
        0,
        "",
    )


def test_a_group_that_read_more_than_was_copied_continues_at_the_end_of_the_copy():
    logs, anchor = straight(100)
    found = target_offset(140, logs.points.values(), anchor, ProvenPosition.behind(anchor))
    assert found == (100, 0, "")


def test_offsets_from_before_a_takeover_have_no_answer():
    logs, anchor = straight(100)
    anchor = replace(anchor, since=(40, 40))
    found, _, problem = target_offset(
        39, logs.points.values(), anchor, ProvenPosition.behind(anchor)
    )
    assert found is None
    assert "before the takeover" in problem


def test_offsets_before_the_oldest_point_have_no_answer_where_older_points_are_gone():
    logs, _ = straight(100)
    logs.step("gap")
    logs.step("copy")
    logs.note()
    logs.step("gap")
    logs.step("copy")
    logs.note()
    anchor = replace(logs.anchor, clean=True)
    points = [each for each in logs.points.values() if each.number > 0]
    assert len(points) < len(logs.points)
    first = min(each.source for each in points)
    end = ProvenPosition.behind(anchor)
    found, _, problem = target_offset(first - 1, points, anchor, end)
    assert found is None
    assert problem == POINTS_LOST.problem
    assert target_offset(first, points, anchor, end)[0] is not None


def test_positions_in_partitions_without_a_proven_position_are_named():
    """Silence would let their consumers skip or repeat records without a word."""
    logs, anchor = straight(100)
    waits = replace(
        FIRST, partition=1, source=None, target=None, state="WAITING", reason="no leader"
    )
    known = KnownPoints("A->B")
    known.learn([anchor, *logs.points.values(), waits])
    positions = (("other", 0, 5), ("t", 0, 7), ("t", 1, 7), ("t", 2, 0))
    here = TopicPartition("t", 0)
    other, found, waiting, fresh = group_positions(
        [GroupPositions("A->B", "g", positions, 9)], known, {here: ProvenPosition.behind(anchor)}
    )
    assert (found.source, found.offset, found.again) == (here, 7, 0)
    why = "is in a partition that has no position on the target"
    advice = (
        "consumers begin there by auto.offset.reset unless kafka-consumer-groups --reset-offsets "
        "sets an offset"
    )
    nothing = f"{why} (nothing of it is copied): {advice}"
    waiting_at, fresh_at, other_at = (
        TopicPartition(*each) for each in (("t", 1), ("t", 2), ("other", 0))
    )
    assert waiting == GroupPosition(
        "g", waiting_at, 7, waiting_at, None, 0, f"{why} (it is WAITING, no leader): {advice}", 9
    )
    assert fresh == GroupPosition("g", fresh_at, 0, fresh_at, None, 0, nothing, 9)
    assert other == GroupPosition("g", other_at, 5, other_at, None, 0, nothing, 9)


def test_a_position_in_a_partition_that_is_not_copied_is_named_by_the_name_of_its_copies():
    logs, anchor = straight(100)
    anchor = replace(anchor, target_topic="A.t")
    known = KnownPoints("A->B")
    known.learn([anchor, *logs.points.values()])
    group = GroupPositions("A->B", "g", (("t", 1, 7),))
    (found,) = group_positions([group], known, {})
    assert found.target == TopicPartition("A.t", 1)
