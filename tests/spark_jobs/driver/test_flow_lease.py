"""What a driver's lease takes from the records of its flow's status topic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fakes.memory_topics import StoredRecords
from support.settings.configs import a_flow

from replication.model import Desired, FlowState
from replication.settings.transform_settings import DEAD_LETTER, STOP, SettingText, TopicTransform
from replication.state import (
    GROUPS_OFF,
    PRODUCERS_TOPIC,
    Anchor,
    FlowStatus,
    Intent,
    NameDecision,
    ProducerEntry,
    TaskReport,
    anchors_topic,
    status_topic,
)
from replication.supervision import driver_lease
from spark_jobs.driver.flow_lease import FlowLease


class Tail:
    """A status topic whose newest records are ``records``."""

    def __init__(self, *records: NameDecision) -> None:
        self.records = list(records)

    def poll(self) -> list[NameDecision]:
        records, self.records = self.records, []
        return records


def test_a_decision_on_a_name_does_not_change_the_mapping_that_another_thread_reads(monkeypatch):
    lease, first = FlowLease(a_flow(), None, None), NameDecision("A->B", "orders", "a", "b", "keep")
    monkeypatch.setattr(lease, "_tail", Tail(first, NameDecision("X->B", "orders", "a", "b", "")))
    lease.poll()
    before = iter(lease.name_decisions.values())
    second = NameDecision("A->B", "clicks", "a", "b", "reseed")
    monkeypatch.setattr(lease, "_tail", Tail(second))
    lease.poll()
    assert list(before) == [first]
    assert lease.name_decisions == {"orders": first, "clicks": second}


class Store(StoredRecords):
    """State topics whose status can be followed."""

    posted: tuple = ()

    def post(self, topic: str, record) -> None:
        self.posted = (*self.posted, record)

    def tail(self, topic: str):
        store = self

        class Followed(Tail):
            def catch_up(self) -> list:
                news = store.topics.get(topic, [])[len(self.records) :]
                self.records += news
                return news

            def close(self) -> None:
                pass

        return Followed()


class Quiet:
    """Clusters of which none is another one."""

    target_problem = ""


ANCHOR = Anchor("A->B", "t", 0, "t", 5, 5, generation=6)
ENTRY = ProducerEntry(5, "A->B", "a", "isthmus.A->B.0", generation=7)
STATUS = FlowStatus("A->B", FlowState.STOPPED, 9)
PAUSED = FlowStatus("A->B", FlowState.PAUSED, 9)


@pytest.mark.parametrize(
    ("status", "anchors", "generation", "desired"),
    [
        pytest.param([], [], 1, Desired.RUN, id="a first start"),
        pytest.param([], [ANCHOR], 8, Desired.PAUSE, id="the status is gone"),
        pytest.param([Intent("A->B", "run")], [ANCHOR], 8, Desired.RUN, id="but an intent"),
        pytest.param([STATUS], [ANCHOR], 10, Desired.RUN, id="nothing is gone"),
        pytest.param([PAUSED], [ANCHOR], 10, Desired.PAUSE, id="an intent is gone"),
        pytest.param(
            [PAUSED, Intent("A->B", "run")], [ANCHOR], 10, Desired.RUN, id="resumed since"
        ),
    ],
)
def test_what_the_status_topic_has_lost_is_neither_believed_nor_made_up(
    monkeypatch, status, anchors, generation, desired
):
    monkeypatch.setattr(driver_lease, "WATCH_MS", 10)
    state = {status_topic("A"): status, anchors_topic("A"): anchors}
    lease = FlowLease(a_flow(), Store(state | {PRODUCERS_TOPIC: [ENTRY] if anchors else []}), None)
    lease.take()
    assert (lease.status.generation, lease.desired) == (generation, desired)
    assert lease.is_desired_lost is (desired is Desired.PAUSE)


def test_an_answer_ends_the_wait_for_a_desired_state_that_is_gone(monkeypatch):
    monkeypatch.setattr(driver_lease, "WATCH_MS", 10)
    lease = FlowLease(a_flow(), Store({anchors_topic("A"): [ANCHOR]}), None)
    lease.take()
    monkeypatch.setattr(lease, "_tail", Tail(Intent("A->B", "run")))
    lease.poll()
    assert (lease.desired, lease.is_desired_lost) == (Desired.RUN, False)


@pytest.mark.parametrize("on_error", [STOP, DEAD_LETTER])
def test_the_topic_for_dead_letters_of_a_transform_is_there_before_its_first_batch(on_error):
    class Clusters:
        def require_target(self) -> None:
            pass

    class Made(Store):
        made = ()

        def ensure_topics(self, source: str) -> None:
            self.made = (*self.made, source)

        def ensure_dead_letters(self, source: str) -> None:
            self.made = (*self.made, f"letters of {source}")

    transform = TopicTransform("orders", where=SettingText("true", "f:1: k"), on_error=on_error)
    store, flow = Made({}), a_flow().model_copy(update={"transforms": (transform,)})
    FlowLease(flow, store, Clusters()).prepare()
    assert store.made == (("A", "letters of A") if on_error == DEAD_LETTER else ("A",))


def test_when_a_task_of_an_earlier_driver_last_ended_well_is_not_forgotten(monkeypatch):
    """Its source may be gone when the next driver starts: then a failover needs to know it."""
    monkeypatch.setattr(driver_lease, "WATCH_MS", 10)
    old = TaskReport("A->B", "old", 5)  # by an older release
    off = TaskReport("A->B", "off", 6, summary=GROUPS_OFF)  # by an older one too: it did nothing
    there = [STATUS, old, off, TaskReport("A->B", "groups", 9, ok=False, good_ms=7)]
    store = Store({status_topic("A"): there})
    lease = FlowLease(a_flow(), store, Quiet())
    lease.take()
    failed = TaskReport("A->B", "groups", 20, ok=False, summary="A is silent", good_ms=0)
    for name in ("groups", "old", "off", "new"):
        lease.report(replace(failed, name=name))
    lease.report(replace(failed, ok=True, good_ms=30))
    lease.report(failed)
    assert [(each.name, each.good_ms) for each in store.posted] == [
        ("groups", 7), ("old", 5), ("off", 0), ("new", 0), ("groups", 30), ("groups", 30),
    ]  # fmt: skip
