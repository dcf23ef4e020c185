"""What is wrong with records that were not matched."""

from __future__ import annotations

from replication.verification.transformed import TransformFinding
from spark_jobs.verification.found_records import Unmatched, named

CONTENT = (1000, 1, 2, 3)  # time, and hashes of key, value and headers


def lost(offset: int, content: tuple[int, ...] = CONTENT, place: int = 0) -> Unmatched:
    return Unmatched("lost", place, content, 4, offset)


def extra(target: int, content: tuple[int, ...] = CONTENT, kind: str = "extra") -> Unmatched:
    return Unmatched(kind, 0, content, target=target)


def with_part(part: int, to: int = 99) -> tuple[int, ...]:
    return (*CONTENT[:part], to, *CONTENT[part + 1 :])


def test_a_lost_record_and_one_too_many_that_differ_in_one_part_are_one_that_differs():
    kinds = ["timestamp", "key", "value", "headers"]
    for part, kind in enumerate(kinds):
        found = named([lost(7), extra(70, with_part(part))])
        assert found == [TransformFinding(f"different {kind}", 1, 4, 0, 7, 70)]


def test_records_that_differ_in_two_parts_are_lost_and_extra():
    other = (CONTENT[0], 98, 99, CONTENT[3])
    assert set(named([lost(7), extra(70, other)])) == {
        TransformFinding("lost", 1, 4, 0, 7, None),
        TransformFinding("extra", 1, None, 0, None, 70),
    }


def test_records_of_other_partitions_are_no_counterpart():
    found = named([lost(7, place=1), extra(70, with_part(2))])
    assert {each.kind for each in found} == {"lost", "extra"}


def test_each_record_too_many_is_the_counterpart_of_one():
    found = named([lost(7), lost(8), extra(70, with_part(2))])
    assert sorted((each.kind, each.records, each.source_offset) for each in found) == [
        ("different value", 1, 7),
        ("lost", 1, 8),
    ]


def test_what_is_alike_is_counted_together_with_the_offsets_of_the_first():
    repeated = extra(70, (5, 6, 7, 8), kind="repeated")
    found = named([lost(9, with_part(2)), lost(7), lost(8, with_part(3)), repeated])
    assert TransformFinding("repeated", 1, None, 0, None, 70) in found
    assert TransformFinding("lost", 3, 4, 0, 7, None) in found
