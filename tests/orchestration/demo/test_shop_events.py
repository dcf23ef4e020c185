"""The events of the demo's shop are consistent, and equal for equal seeds."""

from __future__ import annotations

import json

from orchestration.demo.shop_events import KINDS, ShopEvents


def story(seed: int, length: int = 2_000) -> list:
    events = ShopEvents(seed)
    return [events.next_event(1_700_000_000_000 + each) for each in range(length)]


def test_equal_seeds_tell_the_same_story():
    assert story(1) == story(1)
    assert story(1) != story(2)


def test_every_topic_has_its_share():
    topics = [event.topic for event in story(1)]
    for topic, kind in KINDS.items():
        assert abs(topics.count(topic) / len(topics) * 100 - kind.weight) < 5


def test_a_payment_follows_the_order_that_it_pays():
    placed = {}
    for event in story(1):
        if event.topic == "orders":
            value = json.loads(event.value)
            placed[event.key] = sum(each["count"] * each["price"] for each in value["items"])
        if event.topic == "payments":
            assert json.loads(event.value)["total"] == placed.pop(event.key)


def test_the_story_has_all_that_a_record_can_have():
    events = story(1)
    assert any(event.key is None for event in events)
    assert any(event.value is None for event in events)
    assert any(event.headers for event in events)
    assert any(not event.headers for event in events)
