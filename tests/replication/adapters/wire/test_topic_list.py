"""Which broker is asked for the topics of a cluster."""

from __future__ import annotations

import pytest

from replication.adapters.wire.topic_list import TopicList
from replication.errors import ClusterUnavailable


@pytest.fixture
def listing(monkeypatch):
    """A listing of three brokers that notes whom it asks; ``silent`` ones do not answer."""
    made = TopicList({"bootstrap.servers": "a:9092"}, "test")
    made.asked, made.silent = [], set()

    async def answer():
        made.asked.append(made._node)
        if made._node in made.silent:
            raise ClusterUnavailable("no response in time")
        made._connections.learn(dict.fromkeys((1, 2, 3), ("a", 9092)))
        return {}

    monkeypatch.setattr(made, "_list", answer)
    yield made
    made.close()


def test_another_broker_is_the_next_of_those_that_the_cluster_named(listing):
    for _ in range(5):
        listing.topics(another_broker=True)
    assert listing.asked == [None, 1, 2, 3, 1]


def test_while_nothing_is_unclear_the_same_broker_is_asked(listing):
    listing.topics()
    listing.topics(another_broker=True)
    listing.topics()
    assert listing.asked == [None, 1, 1]


def test_instead_of_a_broker_that_does_not_answer_any_other_is_asked(listing):
    listing.topics()
    listing.silent = {1}
    listing.topics(another_broker=True)
    listing.topics(another_broker=True)
    assert listing.asked == [None, 1, None, 2], "and it is not asked again at once"
