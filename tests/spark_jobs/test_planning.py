from collections.abc import Iterable, Mapping

import pytest

from replication.config.model import Flow, FlowClients, Selection, TopicCreation
from replication.model import TopicPartition
from replication.ports import TopicInfo
from replication.selection import TopicSelector
from spark_jobs.modes import Modes
from spark_jobs.planning import FlowPlanner

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})


class MemoryCluster:
    """Topics of one cluster with one broker."""

    def __init__(self, **topics: int) -> None:
        self._topics = dict(topics)
        self._ids: dict[str, str] = {}

    def cluster_id(self) -> str:
        return "memory"

    def broker_count(self) -> int:
        return 1

    def topics(self) -> Mapping[str, TopicInfo]:
        return {
            name: TopicInfo(name, self._ids.get(name, name), n) for name, n in self._topics.items()
        }

    def recreate(self, topic: str) -> None:
        self._ids[topic] = "made anew"

    def topic_configs(self, topics: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        return {name: {} for name in topics}

    def create_topic(self, name: str, partitions: int, *_: object) -> None:
        self._topics[name] = partitions

    def grow_topic(self, name: str, total: int) -> None:
        self._topics[name] = total

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)


def planner(**creation: object) -> FlowPlanner:
    flow = Flow(
        source="A",
        target="B",
        selection=Selection(topics=("orders", "clicks")),
        creation=TopicCreation(**{"replication_factor": 1, **creation}),
        clients=CLIENTS,
    )
    return FlowPlanner(flow, TopicSelector.for_flow(flow, ["A", "B"]), Modes())


def plan(source: MemoryCluster, target: MemoryCluster, **creation: object):
    return planner(**creation).plan(source, target)


def test_missing_topics_are_made_and_every_partition_is_planned():
    made = plan(MemoryCluster(orders=2, clicks=1), MemoryCluster())
    assert [str(each.target) for each in made.partitions] == [
        "A.clicks-0",
        "A.orders-0",
        "A.orders-1",
    ]
    assert (made.gap, made.refused) == ("", "")


def test_a_topic_that_grew_grows_on_the_target():
    target = MemoryCluster(**{"A.orders": 1, "A.clicks": 1})
    assert len(plan(MemoryCluster(orders=3, clicks=1), target).partitions) == 4


@pytest.mark.parametrize(
    ("creation", "refused"),
    [
        pytest.param({"replication_factor": 2}, "refuse A.orders: ", id="too few brokers"),
        pytest.param(
            {"enabled": False}, "B lacks topics or partitions of A", id="creation switched off"
        ),
    ],
)
def test_what_cannot_be_made_is_left_out_and_said(creation, refused):
    target = MemoryCluster(**{"A.clicks": 1})
    made = plan(MemoryCluster(orders=2, clicks=1), target, **creation)
    assert [str(each.source) for each in made.partitions] == ["clicks-0"]
    assert made.refused.startswith(refused)


def test_a_topic_that_is_not_there_yet_is_named():
    assert plan(MemoryCluster(orders=1), MemoryCluster()).gap == (
        "no topic of the source matches clicks yet"
    )


def test_a_plan_is_the_same_object_until_something_changes():
    source, target, again = MemoryCluster(orders=2, clicks=1), MemoryCluster(), planner()
    first = again.plan(source, target)
    assert again.plan(source, target).partitions is first.partitions
    source.grow_topic("orders", 3)
    grown = again.plan(source, target)
    assert len(grown.partitions) == len(first.partitions) + 1


def test_a_topic_that_was_made_anew_is_planned_with_its_new_id():
    source, target, again = MemoryCluster(orders=1, clicks=1), MemoryCluster(), planner()
    before = {
        each.source.topic: each.source_topic_id for each in again.plan(source, target).partitions
    }
    source.recreate("orders")
    after = {
        each.source.topic: each.source_topic_id for each in again.plan(source, target).partitions
    }
    assert after["clicks"] == before["clicks"]
    assert after["orders"] != before["orders"]
