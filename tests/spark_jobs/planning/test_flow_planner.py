import pytest
from support.fakes.memory_admin import MemoryClients
from support.fakes.memory_topics import StoredRecords, TopicCluster
from support.fakes.plan_clusters import right_clusters
from support.settings.configs import a_config, a_flow

from replication.client.admin import TopicInfo
from replication.errors import ClusterRejected
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.provenance.routes import Routes
from replication.settings.copy_settings import CopySettings
from replication.settings.topic_settings import TopicCreation
from replication.state import PRODUCERS_TOPIC, flow_topics, status_topic
from spark_jobs.planning import state_topics
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlanMemory, FlowPlanner
from spark_jobs.planning.name_announcements import NameAnnouncements
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics

OWN = (*flow_topics("A"), PRODUCERS_TOPIC)


class Looking:
    """The planner of a driver, which looks at the same two clusters again and again."""

    def __init__(
        self,
        copying: CopySettings | None = None,
        store: StoredRecords | None = None,
        elsewhere: frozenset[str] = frozenset(),
        **creation: object,
    ) -> None:
        flow = a_flow(topics=("orders", "clicks")).model_copy(
            update={
                "creation": TopicCreation(**{"replication_factor": 1, **creation}),
                "copying": copying or CopySettings(),
            }
        )
        self._config = a_config(flow)
        namer = Namer.for_flow(flow, self._config)
        routes = Routes.of(self._config.flows, self._config.clusters)
        store = store or StoredRecords()
        guard = NamingGuard(store, NameAnnouncements(store, elsewhere) if elsewhere else None)
        topics = SourceTopics(flow.name, namer.selector, store)
        names = NamesInUse(namer, store, dict)
        self._planner = FlowPlanner(
            namer,
            routes,
            guard,
            DeliveryModes(),
            FlowPlanMemory(topics, names, right_clusters(flow.name)),
        )

    def plan(self, source: TopicCluster, target: TopicCluster):
        clients = MemoryClients({"A": source, "B": target})
        return self._planner.plan(source, target, Planner(self._config, clients, {PlanPart.TOPICS}))


def plan(source: TopicCluster, target: TopicCluster, **creation: object):
    return Looking(**creation).plan(source, target)


def test_missing_topics_are_made_and_every_partition_is_planned():
    made = plan(TopicCluster(orders=2, clicks=1), TopicCluster())
    assert [str(each.target) for each in made.partitions] == [
        "A.clicks-0",
        "A.orders-0",
        "A.orders-1",
    ]
    assert (made.gap, made.refused) == ("", "")


def test_a_topic_that_grew_grows_on_the_target():
    """BL-047."""
    target = TopicCluster(**{"A.orders": 1, "A.clicks": 1})
    assert len(plan(TopicCluster(orders=3, clicks=1), target).partitions) == 4


@pytest.mark.parametrize(
    ("creation", "refused"),
    [
        pytest.param({"replication_factor": 2}, "refuse A.orders: ", id="too few brokers"),
        pytest.param(
            {"enabled": False}, "refuse A.orders: the topic is missing", id="creation switched off"
        ),
    ],
)
def test_what_cannot_be_made_is_left_out_and_reported(creation, refused):
    target = TopicCluster(**{"A.clicks": 1})
    made = plan(TopicCluster(orders=2, clicks=1), target, **creation)
    assert [str(each.source) for each in made.partitions] == ["clicks-0"]
    assert made.refused.startswith(refused)


def test_a_topic_that_is_not_there_yet_is_named():
    assert plan(TopicCluster(orders=1), TopicCluster()).gap == (
        "no topic of the source matches clicks yet"
    )


def test_a_plan_is_the_same_object_until_something_changes():
    source, target, again = TopicCluster(orders=2, clicks=1), TopicCluster(), Looking()
    first = again.plan(source, target)
    assert again.plan(source, target).partitions is first.partitions
    source.grow_topic("orders", 3)
    grown = again.plan(source, target)
    assert len(grown.partitions) == len(first.partitions) + 1


def test_a_topic_that_was_recreated_is_planned_with_its_new_id():
    source, target, again = TopicCluster(orders=1, clicks=1), TopicCluster(), Looking()
    before = {
        each.source.topic: each.source_topic_id for each in again.plan(source, target).partitions
    }
    source.recreate("orders")
    after = {
        each.source.topic: each.source_topic_id for each in again.plan(source, target).partitions
    }
    assert after["clicks"] == before["clicks"]
    assert after["orders"] != before["orders"]


def test_bl_092_of_a_topic_recreated_with_fewer_partitions_only_those_are_planned():
    source, target, again = TopicCluster(orders=6, clicks=1), TopicCluster(), Looking()
    again.plan(source, target)
    source.counts["orders"] = 2
    source.recreate("orders")
    made = again.plan(source, target)
    orders = [each for each in made.partitions if each.source.topic == "orders"]
    assert [each.source.partition for each in orders] == [0, 1]
    assert {each.source_topic_id for each in orders} == {"recreated"}
    assert target.topics()["A.orders"].partitions == 6


def test_bl_124_a_partition_without_a_start_offset_begins_at_its_first_record_and_it_is_reported():
    named = Looking(CopySettings(start="latest", start_offsets={"orders": {0: 40, 1: 7}}))
    made = named.plan(TopicCluster(orders=3, clicks=1), TopicCluster())
    starts = {str(each.source): each.start for each in made.partitions}
    assert starts == {"clicks-0": None, "orders-0": 40, "orders-1": 7, "orders-2": 0}
    (note,) = [each for each in made.notes if "start.offsets" in each]
    assert "no offset of orders-2" in note


def test_bl_059_that_one_of_our_own_topics_is_gone_from_the_target_is_seen():
    target = TopicCluster(**dict.fromkeys(OWN, 1))
    assert plan(TopicCluster(orders=1, clicks=1), target).missing_state_topic == ""
    del target.counts["isthmus-anchors.A.internal"]
    assert (
        plan(TopicCluster(orders=1, clicks=1), target).missing_state_topic
        == "isthmus-anchors.A.internal"
    )


def test_bl_059_one_of_our_own_topics_that_was_created_again_is_another_one():
    target, looking = TopicCluster(**dict.fromkeys(OWN, 1)), Looking()
    source = TopicCluster(orders=1, clicks=1)
    assert looking.plan(source, target).missing_state_topic == ""
    target.recreate("isthmus-anchors.A.internal")
    assert looking.plan(source, target).missing_state_topic == "isthmus-anchors.A.internal"


def test_a_broker_that_tells_no_topic_ids_has_not_lost_a_state_topic():
    name = "isthmus-anchors.A.internal"
    topics = state_topics.StateTopics([name])
    ids = ["", "id-1", "", "id-1", "id-2"]
    found = [topics.deleted({name: TopicInfo(name, each, 1)}) for each in ids]
    assert found == ["", "", "", "", name]


def test_bl_217_a_policy_that_deletes_our_state_is_noticed_while_the_flow_runs(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(state_topics.time, "monotonic", lambda: clock[0])
    target, looking = TopicCluster(**dict.fromkeys(OWN, 1)), Looking()
    target.configs = {name: {"cleanup.policy": "compact"} for name in OWN}
    source = TopicCluster(orders=1, clicks=1)
    assert looking.plan(source, target).state_at_risk == ""
    target.configs["isthmus-anchors.A.internal"]["cleanup.policy"] = "delete"
    clock[0] += 30
    assert looking.plan(source, target).state_at_risk == (
        "topic isthmus-anchors.A.internal has cleanup.policy = delete, so it would lose state "
        "that is still needed: set it to compact"
    )
    target.configs["isthmus-anchors.A.internal"]["cleanup.policy"] = "compact"
    clock[0] += 30
    assert looking.plan(source, target).state_at_risk == ""


def test_a_flow_that_may_not_hear_another_application_is_planned_and_says_so():
    class Closed(StoredRecords):
        def read(self, topic):
            if topic == status_topic("C"):
                raise ClusterRejected("topic authorization failed")
            return super().read(topic)

    made = Looking(store=Closed(), elsewhere=frozenset({"C->B"})).plan(
        TopicCluster(orders=1, clicks=1), TopicCluster()
    )
    assert len(made.partitions) == 2
    assert made.remark.startswith("new topic names of C->B cannot be checked before it copies")
    assert made.remark in made.notes
    assert made.refused == ""
