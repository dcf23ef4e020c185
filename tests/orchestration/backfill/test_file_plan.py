"""Which records of files are appended."""

from __future__ import annotations

import pytest

from orchestration.backfill.file_plan import (
    file_data,
    file_lines,
    file_parts,
    file_sentence,
    may_append,
)
from orchestration.backfill.history import PartitionHistory
from replication.model import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
KNOWN = {T0: ("A.t", 100, ""), T1: ("A.t", 100, "it is compacted")}


COUNTED = {
    "topic": "t",
    "partition": 0,
    "first": 0,
    "last": 99,
    "records": 100,
    "lines": 100,
    "before_end": 100,
    "last_before_end": 99,
}


def counted(partition=0, **more):
    return {**COUNTED, "partition": partition, **more}


def output(*found, done=None):
    parts = file_parts(found, KNOWN, done or {})
    return [*file_lines(parts, "A->B")], file_sentence(parts)


def test_all_before_the_streams_first_record_is_appended():
    lines, sentence = output(counted())
    assert lines == ["t-0 -> A.t-0: 100 records, offsets 0 to 99"]
    assert sentence == "100 records of 1 partitions to append"


def test_what_is_the_streams_is_left_out_and_what_is_there_twice_is_appended_once():
    lines, _ = output(counted(last=149, records=150, lines=170))
    reported = (
        "50 from offset 100 on are left out: the flow copies them; 20 are there more than once"
    )
    assert lines == [f"t-0 -> A.t-0: 100 records, offsets 0 to 149; {reported}"]


@pytest.mark.parametrize(
    ("last_before", "before", "gap"), [(79, 80, "80 to 99"), (None, 0, "90 to 99"), (99, 1, "")]
)
def test_offsets_between_the_files_and_the_stream_are_named(last_before, before, gap):
    first = 90 if last_before is None else 0
    found = counted(first=first, before_end=before, last_before_end=last_before)
    lines, _ = output(found)
    assert ("no file has offsets" in lines[0]) is bool(gap)
    assert gap in lines[0]
    assert not gap or lines[0].endswith(f"backfill FILE --flow A:B --from {gap.split()[0]}")


def test_a_run_goes_on_behind_what_an_earlier_one_appended():
    assert "those before 40 are appended" in output(counted(), done={T0: 40})[0][0]
    lines, sentence = output(counted(), done={T0: 100})
    assert "all are appended" in lines[0]
    assert sentence == "0 records of 0 partitions to append; all are appended"


def test_what_is_not_appended_says_why():
    lines, sentence = output(counted(1), counted(2))
    assert lines == [
        "t-1: 100 records are not appended: it is compacted",
        "t-2: 100 records are not appended: the stream does not copy it, or --topics leaves it out",
    ]
    assert sentence == "0 records of 0 partitions to append; 2 partitions are left out"
    assert [each["to_append"] for each in file_data(file_parts([counted(1)], KNOWN, {}))] == [0]


def test_a_partition_that_was_backfilled_from_the_source_is_refused():
    history = [PartitionHistory(T0, "A.t", 0, 100, at=50), PartitionHistory(T1, "A.t", 0, 70)]
    found = may_append(history, {T0})
    assert found[T1] == ("A.t", 70, "")
    assert "a backfill from the source has already copied a part of it" in found[T0][2]
