"""A topic is written all the time, or in bursts of a second."""

from __future__ import annotations

import time

from chaos.topics.chaos_topics import TOPICS, ChaosTopic, Writing
from chaos.topics.writers import Feed
from replication.adapters.topics.record_writer import NOW


def due(topic: ChaosTopic, monkeypatch, seconds: int) -> list[int]:
    """Return how many records are due in each second, asked four times a second."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    feed, counts = Feed(topic, {}, {topic.name: 1}, seed=1), [0] * seconds
    for _ in range(4 * seconds):
        now += 0.25
        counts[int(now - 0.01)] += feed.due()
    return counts


def test_records_flow_all_the_time(monkeypatch):
    assert due(ChaosTopic("t", "none", rate=80), monkeypatch, 4) == [80, 80, 80, 80]


def test_a_quiet_topic_gets_a_burst_and_makes_up_for_nothing(monkeypatch):
    counts = due(ChaosTopic("t", "none", rate=80, pause_s=3.0), monkeypatch, 8)
    assert counts[0] == 60
    assert counts[1:3] == counts[5:7] == [0, 0]
    assert 0 < sum(counts[3:5]) <= 80


def test_every_topic_that_may_be_compacted_has_keys_in_all_records():
    able = [each for each in TOPICS if each.may_be_compacted]
    assert len(able) == 3
    assert all(each.keys for each in able)


def test_history_is_older_than_brokers_remember_its_producer(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    ages = [each for each in TOPICS if each.age_days]
    assert {each.writing for each in ages} == {Writing.PLAIN}
    for each in ages:
        age_ms = 1_800_000_000_000 - Feed(each, {}, {}, seed=1).timestamp_ms()
        assert 86_400_000 < age_ms < 7 * 86_400_000  # else the source's retention deletes it
    assert Feed(ChaosTopic("t", "none"), {}, {}, seed=1).timestamp_ms() == NOW
