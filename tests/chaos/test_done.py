"""What was done to topics explains states of partitions, and says how they are compared."""

from __future__ import annotations

import pytest

from chaos.done import Done
from chaos.schedule import Side
from chaos.topics.chaos_topics import COMPACTED, ChaosTopic
from replication.model import PartitionState
from replication.records.compare_compacted import Compacted

KEYED = ChaosTopic("t", "none", keys=3)


def test_a_topic_that_was_never_compacted_is_compared_record_by_record():
    assert not Done().sides(KEYED)


def test_a_side_that_was_compacted_for_a_while_is_compared_by_key_and_the_other_side_is_whole():
    done = Done()
    done.compact("t", Side.TARGET)
    assert done.sides(KEYED) == Compacted(source=False, target=True)
    done.compact("t", Side.SOURCE)
    assert done.sides(KEYED) == Compacted(source=True, target=True)
    assert not done.sides(ChaosTopic("other", "none", keys=3))


def test_a_topic_that_is_compacted_all_the_time_may_lack_records_on_both_sides():
    assert Done().sides(ChaosTopic("t", "none", keys=3, configs=COMPACTED)) == Compacted()


def test_a_lost_position_is_explained_by_lost_state_alone():
    done = Done()
    done.compact("t", Side.SOURCE)
    assert done.answer("t", PartitionState.POSITION_LOST) is None
    done.state_lost = True
    assert done.answer("t", PartitionState.POSITION_LOST) == "reseed"


def test_a_target_that_cannot_be_counted_is_explained_by_compaction_of_that_topic_alone():
    done = Done(state_lost=True)
    done.compact("t", Side.TARGET)
    assert done.answer("t", PartitionState.TARGET_RESET) == "reseed"
    assert done.answer("other", PartitionState.TARGET_RESET) is None


@pytest.mark.parametrize("state", ["SOURCE_TRUNCATED", "LOST_RANGE", "SOURCE_CORRUPT", "REFUSED"])
def test_nothing_that_happens_here_explains_any_other_state(state):
    done = Done(state_lost=True)
    done.compact("t", Side.SOURCE)
    assert done.answer("t", state) is None
