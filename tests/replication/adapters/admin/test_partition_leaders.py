"""Which partitions an admin client is asked about."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from replication.adapters.admin import partition_leaders
from replication.adapters.admin.partition_leaders import PartitionLeaders
from replication.model import TopicPartition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
OTHER = TopicPartition("u", 0)


class Metadata:
    """What a client is told: leaders by partition; ``asked`` lists the topics of each question."""

    def __init__(self, **leaders: list[int]) -> None:
        self.leaders, self.asked = leaders, []

    def __call__(self, *topics: str) -> SimpleNamespace:
        self.asked.append(topics)
        infos = {
            topic: SimpleNamespace(
                partitions={n: SimpleNamespace(leader=each) for n, each in enumerate(found)}
            )
            for topic, found in self.leaders.items()
        }
        return SimpleNamespace(topics=infos, brokers={1: None})


@pytest.fixture
def leaders():
    return PartitionLeaders()


def test_partitions_without_a_leader_or_with_one_that_is_down_are_left_out(leaders):
    reported = Metadata(t=[1, -1, 2])
    assert leaders.of([ZERO, ONE, TopicPartition("t", 2), OTHER], reported) == [ZERO]


def test_what_is_known_is_not_asked_again_for_a_while(leaders, monkeypatch):
    reported = Metadata(t=[1, 1])
    for _ in range(3):
        assert leaders.of([ZERO, ONE], reported) == [ZERO, ONE]
    assert reported.asked == [("t",)]
    now = partition_leaders.time.monotonic()
    monkeypatch.setattr(partition_leaders.time, "monotonic", lambda: now + 31)
    leaders.of([ZERO], reported)
    assert len(reported.asked) == 2


def test_what_the_client_learns_by_another_question_counts(leaders):
    """It would search for a leader that it has lost since, see decision 0032."""
    before, after = Metadata(t=[1, 1], u=[1]), Metadata(t=[1, -1])
    assert leaders.of([ZERO, ONE, OTHER], before) == [ZERO, ONE, OTHER]
    leaders.learn(after(), ["t"])
    assert leaders.of([ZERO, OTHER], before) == [ZERO, OTHER]
    before.asked.clear()
    assert leaders.of([ONE], after) == []
    assert before.asked == []
    assert leaders.of([OTHER], before) == [OTHER]
    assert before.asked == []


def test_a_partition_that_is_not_known_is_asked_about_each_time(leaders):
    reported = Metadata(t=[1])
    for _ in range(2):
        assert leaders.of([ZERO, OTHER], reported) == [ZERO]
    assert reported.asked == [("t",), ("u",), ("u",)]


def test_of_many_topics_all_are_asked_about_at_once(leaders):
    many = [TopicPartition(f"t{n}", 0) for n in range(11)]
    reported = Metadata(**{each.topic: [1] for each in many})
    assert leaders.of(many, reported) == many
    assert reported.asked == [()]


def test_what_was_wrong_is_learnt_anew(leaders):
    assert leaders.of([ZERO], Metadata(t=[1])) == [ZERO]
    assert leaders.of([ZERO], Metadata(t=[-1]), anew=True) == []
    assert leaders.of([ZERO], reported := Metadata(t=[1])) == [ZERO]
    assert reported.asked == [("t",)]


def test_threads_that_learn_at_once_lose_nothing_of_each_other(leaders):
    other = Metadata(u=[1])

    class Slow(dict):
        """Topics of an answer that is still being read while another thread learns."""

        def get(self, topic):
            leaders.of([OTHER], other)
            return super().get(topic)

    def slow(*_):
        return SimpleNamespace(topics=Slow(Metadata(t=[1])().topics), brokers={1: None})

    assert leaders.of([ZERO], slow) == [ZERO]
    assert leaders.of([ZERO, OTHER], asked := Metadata()) == [ZERO, OTHER]
    assert asked.asked == []
