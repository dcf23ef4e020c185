"""What became of a drill's records: each fault is counted once."""

from __future__ import annotations

from replication.recovery.canaries import Canary, CanaryVerdict, FoundRecord, absent, verdict

WRITTEN = [Canary("d", "A", n, 100 + n) for n in range(4)]


def found(*numbers: int, **changes: object) -> list[FoundRecord]:
    """Return the records with these numbers in one partition, in this order."""
    expected = {each.number: each for each in WRITTEN}
    return [
        FoundRecord(0, at, expected[n].key, expected[n].value, expected[n].at_ms)._replace(
            **changes
        )
        for at, n in enumerate(numbers)
    ]


def test_records_that_are_there_once_in_their_order_are_right():
    assert verdict(WRITTEN, found(0, 1, 2, 3)) == CanaryVerdict(4)
    assert verdict(WRITTEN, found(0, 1, 2, 3)).right


def test_a_record_that_is_missing_is_lost_and_one_that_is_there_twice_repeated():
    assert verdict(WRITTEN, found(0, 1, 2)) == CanaryVerdict(4, lost=1)
    assert verdict(WRITTEN, found(0, 1, 2, 3, 3)) == CanaryVerdict(4, repeated=1)


def test_another_value_another_time_and_a_record_that_nobody_wrote_are_different():
    whole = found(0, 1, 2)
    for wrong in ({"value": b"x"}, {"at_ms": 1}):
        assert verdict(WRITTEN, [*whole, *found(3, **wrong)]) == CanaryVerdict(4, different=1)
    assert verdict(
        WRITTEN, [*found(0, 1, 2, 3), FoundRecord(0, 9, b"Z/1", b"", 1)]
    ) == CanaryVerdict(4, different=1)


def test_a_record_behind_a_later_one_is_different_but_not_in_another_partition():
    assert verdict(WRITTEN, found(1, 0, 2, 3)) == CanaryVerdict(4, different=1)
    assert verdict(WRITTEN, [*found(1), *found(0, partition=1), *found(2, 3)]).right


def test_absent_records_are_named_in_the_order_of_writing():
    assert absent(WRITTEN, found(0, 2)) == (WRITTEN[1], WRITTEN[3])
