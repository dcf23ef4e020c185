from hypothesis import given
from hypothesis import strategies as st

from replication.copier.unit_assignment import plan_units, unit_of
from replication.model import PartitionPlan, TopicPartition

partitions = st.lists(
    st.tuples(st.text(min_size=1, max_size=8), st.integers(0, 50)), unique=True, max_size=40
)
units = st.integers(1, 9)


def plan(topic, partition):
    return PartitionPlan(TopicPartition(topic, partition), TopicPartition(f"A.{topic}", partition))


@given(partitions, units)
def test_every_partition_is_copied_by_exactly_one_unit(named, count):
    plans = [plan(*each) for each in named]
    spread = [each for unit in plan_units(plans, count) for each in unit.partitions]
    assert sorted(each.source for each in spread) == sorted(each.source for each in plans)


@given(partitions, units)
def test_a_unit_without_partitions_is_left_out_and_the_others_keep_their_numbers(named, count):
    for unit in plan_units([plan(*each) for each in named], count):
        assert unit.partitions
        assert {unit_of(*each.source, count) for each in unit.partitions} == {unit.unit}


@given(partitions, st.text(min_size=1, max_size=8), units)
def test_a_new_topic_moves_no_partition(named, topic, count):
    before = {each: unit_of(*each, count) for each in named}
    grown = plan_units([plan(*each) for each in {*named, (topic, 0)}], count)
    after = {each.source: unit.unit for unit in grown for each in unit.partitions}
    assert all(after[each] == unit for each, unit in before.items())


def test_partitions_of_one_topic_are_spread_evenly():
    spread = plan_units([plan("orders", each) for each in range(8)], 4)
    assert [len(unit.partitions) for unit in spread] == [2, 2, 2, 2]


def test_the_assignment_is_the_same_in_every_process_and_release():
    assert [unit_of("orders", each, 4) for each in range(4)] == [2, 3, 0, 1]
    assert unit_of("payments", 0, 4) == 2


def test_nothing_to_copy_needs_no_unit():
    assert plan_units([], 4) == ()
