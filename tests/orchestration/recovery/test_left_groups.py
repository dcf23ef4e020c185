"""What a step left of groups, as the operation's record keeps it."""

from __future__ import annotations

import json
from dataclasses import replace

from orchestration.recovery.left_groups import all_left_groups, left_groups, with_left_groups
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
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


def test_a_record_of_an_earlier_release_says_nothing_about_it():
    found = stored(OPERATION, "left")
    assert found == stored(OPERATION)
    assert left_groups(found, "set groups") is None
    assert all_left_groups(found) == ()
