"""What a step left of groups, as the operation's record keeps it."""

from __future__ import annotations

import json
from dataclasses import replace

from orchestration.recovery.left_groups import (
    all_left_groups,
    left_groups,
    more_left,
    with_left_groups,
)
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
from replication.recovery.procedure import ended
from replication.state import Operation

OPERATION = Operation("A->B", "op1", "failback", step="set groups", turn=1)
WHOLE = LeaveGroup("g", "denied")
ONE = LeaveOffset("h", TopicPartition("t", 0), "t-0 offset 3 is not copied yet")


def stored(operation: Operation, *without: str) -> Operation:
    """Return the operation as another process reads it; ``without``: fields of no older one."""
    value = json.loads(operation.value())
    kept = {name: its for name, its in value.items() if name not in without}
    return Operation.parse(json.loads(operation.key()), kept)


def test_another_process_reads_groups_and_offsets():
    found = stored(with_left_groups(OPERATION, [WHOLE, ONE]))
    assert left_groups(found, "set groups") == (WHOLE, ONE)
    other = with_left_groups(replace(found, step="set other groups"), [WHOLE])
    assert all_left_groups(stored(other)) == (WHOLE, ONE, WHOLE)


def test_a_second_attempt_of_a_step_replaces_what_the_first_one_left():
    again = with_left_groups(stored(with_left_groups(OPERATION, [WHOLE])), [ONE])
    assert left_groups(again, "set groups") == (ONE,)
    assert left_groups(with_left_groups(again, []), "set groups") == ()


def test_the_steps_keep_their_order_also_where_the_alphabet_has_another():
    first = with_left_groups(replace(OPERATION, step="set"), [WHOLE])
    second = with_left_groups(replace(ended(first, "set", 1, "did"), step="adopt"), [ONE])
    assert list(json.loads(second.value())["left"]) == ["adopt", "set"]
    assert all_left_groups(stored(second)) == (WHOLE, ONE)
    assert all_left_groups(stored(ended(second, "adopt", 2, "did"))) == (WHOLE, ONE)


def test_all_of_a_group_has_no_topic_in_the_record():
    found = json.loads(with_left_groups(OPERATION, [WHOLE]).value())
    assert found["left"] == {"set groups": [["g", None, None, "denied"]]}


MANY = [
    LeaveOffset("é" * 40, TopicPartition("orders", n), f"orders-{n} offset 3 " + "x" * 300)
    for n in range(10_000)
]


def test_a_long_list_keeps_the_first_ones_and_counts_the_others():
    """A record above 1 MB would be refused at each attempt, and the target would never be open."""
    once = with_left_groups(OPERATION, MANY)
    found = stored(with_left_groups(replace(once, step="set other groups"), MANY))
    assert len(found.value()) < 450_000
    kept = left_groups(found, "set groups")
    assert kept == tuple(MANY[: len(kept)])
    assert len(kept) > 300
    assert more_left(found) == 2 * (10_000 - len(kept))
    again = with_left_groups(replace(found, step="set groups"), [ONE])
    assert again.more_left["set groups"] == 0


def test_a_record_of_an_earlier_release_says_nothing_about_it():
    found = stored(OPERATION, "left")
    assert found == stored(OPERATION)
    assert left_groups(found, "set groups") is None
    assert all_left_groups(found) == ()
    assert more_left(stored(OPERATION, "more_left")) == more_left(None) == 0
