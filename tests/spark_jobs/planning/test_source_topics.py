"""What a flow's source has, when its brokers show too little or topics go."""

from __future__ import annotations

import pytest
from support.fakes.memory_admin import MemoryClients
from support.fakes.memory_topics import StoredRecords, TopicCluster
from support.fakes.plan_clusters import right_clusters
from support.settings.configs import a_config, a_flow

from replication.model import PartitionState
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.provenance.routes import Routes
from replication.settings.copy_settings import CopySettings
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import TopicCreation
from replication.state import (
    AbsentTopic,
    Anchor,
    InventoryPart,
    anchors_topic,
    parse,
    status_topic,
)
from spark_jobs.planning import source_inventory, source_topics
from spark_jobs.planning.absent_topics import problem_and_remark
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlanMemory, FlowPlanner
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics

FLOW, STATUS, ANCHORS = "A->B", status_topic("A"), anchors_topic("A")
NOW, EARLIEST = "at its end", "from its first record"


class Driver:
    """The looks of one driver of a flow with ``copy.start = latest``."""

    def __init__(
        self,
        store: StoredRecords,
        target: TopicCluster,
        topics: tuple[str, ...] = (".*",),
        replicas: int = 1,
    ) -> None:
        flow = a_flow(topics=topics).model_copy(
            update={
                "creation": TopicCreation(replication_factor=replicas),
                "copying": CopySettings(start="latest"),
            }
        )
        self._config = a_config(flow)
        self._target = target
        namer = Namer.for_flow(flow, self._config)
        routes = Routes.of(self._config.flows, self._config.clusters)
        looks = SourceTopics(FLOW, namer.selector, store)
        guard = NamingGuard(store)
        memory = FlowPlanMemory(
            looks, NamesInUse(namer, StoredRecords(), dict), right_clusters(namer.flow.name)
        )
        self._planner = FlowPlanner(namer, routes, guard, DeliveryModes(), memory)

    def plan(self, source: TopicCluster, *listings: set[str]):
        """Return the plan of the last of some looks, each with its own listing."""
        source.lists = list(listings)
        clients = MemoryClients({"A": source, "B": self._target})
        for _ in range(max(1, len(listings))):
            made = self._planner.plan(
                source, self._target, Planner(self._config, clients, {PlanPart.TOPICS})
            )
        return made

    def begins(self, source: TopicCluster, *listings: set[str]) -> dict[str, object]:
        """Return where each planned partition begins if it has no position."""
        found = self.plan(source, *listings).partitions
        return {
            str(each.source): EARLIEST if each.created_later else each.since_ms or NOW
            for each in found
        }


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    """Let each look of a driver be at a later ms, from 1000 on."""
    ticks = iter(range(1000, 10_000))
    monkeypatch.setattr(source_topics, "now_ms", lambda: next(ticks))


@pytest.fixture
def store() -> StoredRecords:
    return StoredRecords()


@pytest.fixture
def driver(store) -> Driver:
    return Driver(store, TopicCluster())


def copied(store: StoredRecords, topic: str, source: int = 100, end: int = 100) -> None:
    """Pretend that the flow has copied a topic of one partition."""
    anchor = Anchor(FLOW, topic, 0, f"A.{topic}", source, source, source_end=end)
    store.write(ANCHORS, anchor)


BOTH = {"orders", "clicks"}


def a_source() -> TopicCluster:
    return TopicCluster(orders=1, clicks=1)


@pytest.mark.parametrize(
    ("first", "begins"),
    [
        pytest.param(BOTH, {"clicks-0": NOW, "orders-0": NOW}, id="all"),
        pytest.param(set(), {"clicks-0": 1000, "orders-0": 1000}, id="none"),
        pytest.param({"clicks"}, {"clicks-0": NOW, "orders-0": 1000}, id="one is missing"),
        pytest.param(
            {"__consumer_offsets"}, {"clicks-0": 1000, "orders-0": 1000}, id="the brokers' own"
        ),
    ],
)
@pytest.mark.parametrize("looks", [1, 2, 3, 8])
def test_what_the_first_listing_lacks_was_still_there_before_the_flow(driver, first, begins, looks):
    source = TopicCluster(orders=1, clicks=1, __consumer_offsets=1)
    seen = BOTH | ({"__consumer_offsets"} & first)
    assert driver.begins(source, first, *[seen] * looks) == begins


def test_partitions_that_the_first_listing_lacks_were_there_before_the_flow(driver):
    source = TopicCluster(orders=1)
    driver.plan(source)
    source.counts["orders"] = 3
    assert driver.begins(source) == {"orders-0": NOW, "orders-1": 1000, "orders-2": 1000}
    driver.plan(source, *[{"orders"}] * 5)
    source.counts["orders"] = 4
    assert driver.begins(source)["orders-3"] == EARLIEST


def test_what_comes_after_several_looks_that_agree_was_created_later(driver):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    source.counts |= {"later": 1, "orders": 2}
    assert driver.begins(source) == {
        "clicks-0": NOW,
        "later-0": EARLIEST,
        "orders-0": NOW,
        "orders-1": EARLIEST,
    }


@pytest.mark.parametrize("nothing", [set(), {"__consumer_offsets"}], ids=["none", "brokers' own"])
def test_however_many_empty_listings_come_first_they_are_no_looks(driver, nothing):
    source = TopicCluster(orders=1, __consumer_offsets=1)
    driver.plan(source, *[nothing] * 6)
    assert driver.begins(source) == {"orders-0": 1000}


def test_two_looks_that_agree_are_too_few(driver):
    source = a_source()
    driver.plan(source, *[{"clicks"}] * 2)
    assert driver.begins(source)["orders-0"] == 1000


def test_a_topic_that_is_recreated_before_it_was_copied_is_a_later_one(driver):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    source.recreate("orders")
    assert driver.begins(source) == {"clicks-0": NOW, "orders-0": EARLIEST}


def test_a_source_that_never_agrees_with_itself_is_known_after_a_minute(driver, monkeypatch):
    seconds = iter(range(0, 6000, 31))
    monkeypatch.setattr(source_topics.time, "monotonic", lambda: next(seconds))
    source = TopicCluster(t0=1)
    for number in range(4):
        source.counts[f"t{number}"] = 1
        driver.plan(source)
    source.counts["later"] = 1
    assert driver.begins(source)["later-0"] == EARLIEST


def test_a_driver_that_ends_between_two_looks_forgets_nothing(store):
    target, source = TopicCluster(), a_source()
    Driver(store, target).plan(source, set())
    copied(store, "clicks")  # so the flow has copied before
    second = Driver(store, target)
    assert second.begins(source, {"clicks"}, BOTH) == {"clicks-0": 1000, "orders-0": 1000}


def test_a_restarted_driver_knows_what_was_there_before(store):
    target, source = TopicCluster(), a_source()
    Driver(store, target).plan(source, *[BOTH] * 3)
    source.counts["later"] = 1
    assert Driver(store, target).begins(source) == {
        "clicks-0": 1000,
        "later-0": EARLIEST,
        "orders-0": 1000,
    }


def test_a_topic_whose_copy_could_not_be_created_at_first_is_no_later_one(store):
    target, source = TopicCluster(), a_source()
    made = Driver(store, target, replicas=2)
    assert made.begins(source, *[BOTH] * 4) == {}
    target.brokers = 2
    assert made.begins(source) == {"clicks-0": 1000, "orders-0": 1000}


def test_a_topic_that_was_there_and_is_selected_later_begins_at_its_end(store):
    target, source = TopicCluster(), a_source()
    Driver(store, target, ("clicks",)).plan(source, *[BOTH] * 3)
    assert Driver(store, target).begins(source)["orders-0"] == NOW


def test_a_flow_that_copied_before_inventories_were_kept_copies_the_rest_whole(store):
    copied(store, "clicks")
    assert Driver(store, TopicCluster()).begins(a_source())["orders-0"] == EARLIEST


def test_an_inventory_of_many_topics_is_stored_in_parts(store, monkeypatch):
    monkeypatch.setattr(source_inventory, "_TOPICS_PER_PART", 2)
    source = TopicCluster(**{f"t{number}": 1 for number in range(5)})
    Driver(store, TopicCluster()).plan(source, *[set(source.counts)] * 3)
    parts = [e for e in store.read(STATUS).values() if isinstance(e, InventoryPart)]
    assert sorted((each.part, len(each.known)) for each in parts) == [
        (0, 0),
        (1, 2),
        (2, 2),
        (3, 1),
    ]
    assert [parse(each.key(), each.value()) for each in parts] == parts
    source.counts["later"] = 1
    begins = Driver(store, TopicCluster()).begins(source)
    assert [name for name, each in begins.items() if each == EARLIEST] == ["later-0"]


def test_a_topic_that_two_listings_lack_stays_in_the_plan(driver, store):
    source = a_source()
    first = driver.plan(source, *[BOTH] * 3)
    copied(store, "orders")
    delete(source)  # so a broker that is behind says when it is asked by name, too
    for listing in ({"clicks"}, set()):
        made = driver.plan(source, listing)
        assert made.partitions is first.partitions
    assert (made.absent, made.gap) == ((), "")
    source.counts["orders"] = 1
    assert driver.plan(source).partitions is first.partitions


def test_a_topic_that_the_source_knows_by_name_stays_in_the_plan(driver, store):
    source = a_source()
    first = driver.plan(source, *[BOTH] * 3)
    copied(store, "orders")
    made = driver.plan(source, *[{"clicks"}] * 8)
    assert (made.partitions, made.absent) == (first.partitions, ())


def test_partitions_that_a_listing_lacks_stay_in_the_plan(driver):
    source = TopicCluster(orders=3)
    first = driver.plan(source)
    source.counts["orders"] = 1
    assert driver.plan(source).partitions is first.partitions


def delete(source: TopicCluster) -> None:
    del source.counts["orders"]


def deny(source: TopicCluster) -> None:
    source.denied.add("orders")


GONE = [
    pytest.param(
        delete,
        PartitionState.SOURCE_DELETED,
        "the source topic was deleted; the copy A.orders is kept; at least 7 of its offsets were "
        "not copied",
        id="deleted",
    ),
    pytest.param(
        deny,
        PartitionState.SOURCE_DENIED,
        "the source does not show the topic to Isthmus' user any more; the copy A.orders is kept",
        id="denied",
    ),
]


@pytest.mark.parametrize(("lose", "state", "reason"), GONE)
def test_a_topic_that_is_gone_is_named_and_the_others_go_on(driver, store, lose, state, reason):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    copied(store, "orders", 93, 100)
    copied(store, "clicks")
    lose(source)
    made = driver.plan(source, *[BOTH] * 3)
    assert [str(each.source) for each in made.partitions] == ["clicks-0"]
    (absent,) = made.absent
    assert (absent.topic, absent.state, absent.reason) == ("orders", state, reason)
    assert store.read(STATUS)[absent.key()] == absent
    count = len(store.topics[STATUS])
    assert driver.plan(source, *[BOTH] * 20).absent == (absent,)
    assert len(store.topics[STATUS]) == count, "it is written once"


@pytest.mark.parametrize(("lose", "state", "reason"), GONE)
def test_a_restarted_driver_names_what_went_meanwhile(store, lose, state, reason):
    source = a_source()
    copied(store, "orders", 93, 100)
    lose(source)
    (absent,) = Driver(store, TopicCluster()).plan(source, *[BOTH] * 3).absent
    assert (absent.state, absent.reason) == (state, reason)
    again = Driver(store, TopicCluster())
    assert again.plan(source).absent == (absent,), "with the time when it was noticed"


def test_a_topic_that_is_created_again_is_planned_again_with_its_new_id(driver, store):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    copied(store, "orders")
    delete(source)
    (absent,) = driver.plan(source, *[BOTH] * 3).absent
    source.counts["orders"] = 1
    source.recreate("orders")
    made = driver.plan(source)
    ids = {each.source.topic: each.source_topic_id for each in made.partitions}
    assert ids == {"clicks": "clicks", "orders": "recreated"}
    assert made.absent == ()
    assert store.read(STATUS)[absent.key()].state == ""


def test_a_deleted_topic_that_may_not_be_described_either_is_denied(driver, store, monkeypatch):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    copied(store, "orders")
    delete(source)
    driver.plan(source, *[BOTH] * 3)
    deny(source)
    monkeypatch.setattr(source_topics, "_ASK_AGAIN_S", 0.0)
    (absent,) = driver.plan(source).absent
    assert absent.state == PartitionState.SOURCE_DENIED


def test_a_topic_that_the_file_does_not_select_any_more_is_named_so(store):
    copied(store, "orders")
    copied(store, "clicks")
    source = a_source()
    (absent,) = Driver(store, TopicCluster(), ("clicks",)).plan(source).absent
    assert (absent.topic, absent.state) == ("orders", PartitionState.NOT_SELECTED)
    assert absent.reason == (
        "the file does not select the topic any more: no pattern of topics matches; the copy "
        "A.orders is kept"
    )
    assert Driver(store, TopicCluster()).plan(source).absent == ()
    assert store.read(STATUS)[absent.key()].state == ""


def test_a_deleted_topic_that_the_file_excludes_is_no_problem_any_more(store):
    copied(store, "orders")
    copied(store, "clicks")
    source = TopicCluster(clicks=1)
    (absent,) = Driver(store, TopicCluster()).plan(source, *[BOTH] * 3).absent
    assert absent.state == PartitionState.SOURCE_DELETED
    (absent,) = Driver(store, TopicCluster(), ("clicks",)).plan(source).absent
    assert absent.state == PartitionState.NOT_SELECTED


@pytest.mark.parametrize(("lose", "state", "reason"), GONE)
def test_a_topic_that_went_while_it_was_not_selected_is_named_once_it_is(
    store, lose, state, reason
):
    source = a_source()
    copied(store, "orders", 93, 100)
    Driver(store, TopicCluster(), ("clicks",)).plan(source)
    lose(source)
    (absent,) = Driver(store, TopicCluster()).plan(source, *[BOTH] * 3).absent
    assert (absent.state, absent.reason) == (state, reason)


def test_a_deleted_topic_of_which_nothing_was_copied_is_left_out(driver):
    source = a_source()
    driver.plan(source, *[BOTH] * 3)
    delete(source)
    made = driver.plan(source, *[BOTH] * 4)
    assert [str(each.source) for each in made.partitions] == ["clicks-0"]
    assert made.absent == ()


def gone(topic: str, state: PartitionState) -> AbsentTopic:
    return AbsentTopic(FLOW, topic, state, "a reason")


DELETED = [gone(each, PartitionState.SOURCE_DELETED) for each in ("clicks", "orders")]
DENIED = gone("users", PartitionState.SOURCE_DENIED)


@pytest.mark.parametrize(
    ("absent", "policies", "problem", "remark"),
    [
        pytest.param([], Policies(), "", "", id="none"),
        pytest.param(
            [*DELETED, gone("x", PartitionState.NOT_SELECTED)],
            Policies(),
            "deleted at the source: clicks, orders; what was copied is kept; create the topic "
            "again, list it in topics.exclude, or set on.source.deleted = continue",
            "",
            id="deleted",
        ),
        pytest.param(
            DELETED,
            Policies(source_deleted="continue"),
            "",
            "deleted at the source: clicks, orders; what was copied is kept",
            id="deleted, as wanted",
        ),
        pytest.param(
            [DENIED],
            Policies(source_deleted="continue"),
            "not shown by the source any more: users; what was copied is kept; grant Isthmus' "
            "user DESCRIBE and READ on the topic, or list it in topics.exclude",
            "",
            id="denied",
        ),
        pytest.param(
            [gone("x", PartitionState.NOT_SELECTED)], Policies(), "", "", id="not selected"
        ),
    ],
)
def test_what_a_flow_says_of_absent_topics(absent, policies, problem, remark):
    assert problem_and_remark(absent, policies) == (problem, remark)
