"""Flows into one target, each in its own application: how they exchange topic names."""

from __future__ import annotations

import pytest
from support.fakes.memory_topics import StoredRecords, TopicCluster

from replication.errors import ClusterRejected, ClusterUnavailable
from replication.naming.conflicts import Named
from replication.state import status_topic
from spark_jobs.planning import name_announcements
from spark_jobs.planning.name_announcements import NameAnnouncements
from spark_jobs.planning.naming_guard import NamingGuard

EMPTY = TopicCluster()  # the target, without topics


class Application:
    """The guard of a driver with one flow; ``A->T`` calls its topics by one rule, ``B->T`` not."""

    def __init__(self, flow: str, other: str, records: StoredRecords) -> None:
        self.flow = flow
        self.guard = NamingGuard(records, NameAnnouncements(records, {other}))

    def refused(self, *names: tuple[str, str], merges: bool = False) -> list[str]:
        """Plan (topic, name on the target) pairs; return the topics that are not copied."""
        named = tuple(Named(self.flow, *each, rule=self.flow, merges=merges) for each in names)
        found = self.guard.conflicts(self.flow, named, EMPTY.topics(), EMPTY)
        return sorted({e.topic for c in found for e in c.refused if e.flow == self.flow})


def two(records: StoredRecords | None = None) -> tuple[Application, Application]:
    records = records or StoredRecords()
    return Application("A->T", "B->T", records), Application("B->T", "A->T", records)


def test_of_two_that_meet_by_chance_the_second_is_refused_although_nothing_is_copied_yet():
    one, other = two()
    assert one.refused(("x", "all"), ("y", "y")) == []
    assert other.refused(("z", "all"), ("y2", "y2")) == ["z"]
    assert one.refused(("x", "all"), ("y", "y")) == []


def test_two_that_begin_at_the_same_moment_do_not_both_begin():
    class Late(StoredRecords):
        """Lets the other application plan between our announcement and our read of theirs."""

        def write(self, topic, *records):
            super().write(topic, *records)
            if topic == status_topic("A"):
                between.append(other.refused(("z", "all")))

    between: list[list[str]] = []
    one, other = two(Late())
    assert one.refused(("x", "all")) == ["x"]
    assert between == [["z"]]


def test_what_is_meant_to_merge_begins_at_the_same_moment():
    one, other = two()
    assert one.refused(("x", "all"), merges=True) == []
    assert other.refused(("z", "all"), merges=True) == []


def test_who_waits_begins_when_the_other_one_gives_the_name_up(monkeypatch):
    one, other = two()
    one.refused(("x", "all"))
    assert other.refused(("z", "all")) == ["z"]
    monkeypatch.setattr(name_announcements, "_AGAIN_S", 0.0)
    again, _ = two(one.guard._store)
    assert again.refused(("x", "mine")) == []  # it was given another name and started again
    _, restarted = two(one.guard._store)
    assert restarted.refused(("z", "all")) == []
    again.refused()  # and now the topic is not selected any more
    _, restarted = two(one.guard._store)
    assert restarted.refused(("z", "mine")) == []


def test_a_topic_that_was_away_for_a_while_is_reported_again_when_it_is_back():
    one, other = two()
    one.refused(("x", "all"))
    one.refused()  # one listing of the source is without it
    one.refused(("x", "all"))
    assert other.refused(("z", "all")) == ["z"]


class Closed(StoredRecords):
    """Lets nobody read the status of flows from B, for a while."""

    why: Exception | None = ClusterRejected("topic authorization failed")

    def read(self, topic):
        if self.why is not None and topic == status_topic("B"):
            raise self.why
        return super().read(topic)


def test_who_may_not_hear_another_one_goes_on_and_says_so_until_it_may():
    records = Closed()
    one, _ = two(records)
    _, other = two(StoredRecords(records.topics))
    assert one.refused(("x", "x")) == []
    assert "READ on topic isthmus-status.B.internal" in one.guard.unreadable
    other.refused(("z", "all"))
    records.why = None
    assert one.refused(("x", "x")) == []
    assert one.guard.unreadable  # it is not asked at every look
    one.guard._announcements._read_at = 0.0
    assert one.refused(("x", "x")) == []
    assert one.guard.unreadable == ""
    assert one.refused(("x", "x"), ("y", "all")) == ["y"]


def test_what_a_silent_target_did_not_tell_is_asked_at_the_next_look():
    records = Closed()
    one, _ = two(records)
    _, other = two(StoredRecords(records.topics))
    other.refused(("z", "all"))
    records.why = None
    one.refused(("x", "x"))
    records.why = ClusterUnavailable("no answer")
    two(StoredRecords(records.topics))[1].refused(("z", "all"), ("v", "both"))
    with pytest.raises(ClusterUnavailable):
        one.refused(("x", "x"), ("w", "both"))
    records.why = None
    assert one.refused(("x", "x"), ("w", "both")) == ["w"]


def test_while_nothing_is_new_nobody_is_asked():
    records = StoredRecords()
    one, _ = two(records)
    one.refused(("x", "all"))
    records.reads.clear()
    one.refused(("x", "all"))
    assert records.reads == []
