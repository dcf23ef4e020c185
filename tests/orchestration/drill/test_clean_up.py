"""What a drill removes when it has ended, and what it leaves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow

from orchestration.drill import clean_up
from orchestration.drill.clean_up import CleanUp
from replication.errors import ClusterRejected
from replication.state import PROBE_TOPIC, flow_topics
from replication.state.drill_names import DrillNames

NAMES = DrillNames("A", "B")


class Topics:
    """The topics of one cluster, of which all but ``denied`` may be deleted."""

    def __init__(self, *names: str, denied: str = "") -> None:
        self.names, self.denied = {*names}, denied

    def topic_names(self):
        return set(self.names)

    def delete_groups(self, groups):
        assert groups == [NAMES.group]

    def delete_topics(self, names):
        if self.denied in names:
            raise ClusterRejected(f"deleting {self.denied}: Topic authorization failed")
        self.names -= names


@pytest.fixture
def removed(monkeypatch):
    def remove(topics: dict[str, Topics], made: frozenset[str]) -> str:
        monkeypatch.setattr(clean_up, "_admin", lambda flow: topics[flow.target])
        flows = [a_flow(*each.split("->")) for each in (NAMES.flow, NAMES.back)]
        store = SimpleNamespace(store=lambda _: LogStore())
        return CleanUp(NAMES, a_config(*flows), store).remove(made)

    return remove


def two(**more):
    return {
        alias: Topics(NAMES.topic, "orders", PROBE_TOPIC, *flow_topics(other), **more)
        for alias, other in (
            (NAMES.source_alias, NAMES.target_alias),
            (NAMES.target_alias, NAMES.source_alias),
        )
    }


def test_its_own_topics_go_and_shared_ones_only_if_it_made_them(removed):
    topics = two()
    removed(topics, frozenset({f"{NAMES.target_alias}/{PROBE_TOPIC}"}))
    assert topics[NAMES.source_alias].names == {"orders", PROBE_TOPIC}
    assert topics[NAMES.target_alias].names == {"orders"}


def test_a_shared_topic_that_it_may_not_delete_is_left_and_named(removed):
    topics = two(denied=PROBE_TOPIC)
    made = frozenset(f"{each}/{PROBE_TOPIC}" for each in topics)
    reported = removed(topics, made)
    assert (
        f"left what all flows into {NAMES.target_alias} share: deleting {PROBE_TOPIC}" in reported
    )
    assert all(each.names == {"orders", PROBE_TOPIC} for each in topics.values())
