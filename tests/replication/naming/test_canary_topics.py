"""The canary topic of a drill is copied by the drill's flows, and by no other."""

from __future__ import annotations

import pytest
from support.settings.configs import a_flow

from replication.naming.conflicts import Named, TargetNames, find_conflicts
from replication.naming.selection import TopicSelector
from replication.settings.naming_settings import Selection
from replication.state.drill_names import DrillNames, canary_of

NAMES = DrillNames("A", "B")


def selects(source: str, target: str) -> bool:
    everything = Selection(topics=(".*",), topics_exclude=())
    flow = a_flow(source, target).model_copy(update={"selection": everything})
    selector = TopicSelector.for_flow(flow, {source, target})
    return bool(selector.selected([NAMES.topic]))


def test_both_flows_of_a_drill_copy_its_canary_topic():
    assert selects(NAMES.source_alias, NAMES.target_alias)
    assert selects(NAMES.target_alias, NAMES.source_alias)


@pytest.mark.parametrize("source", ["A", "B", DrillNames("B", "A").source_alias])
def test_no_other_flow_copies_it_although_its_patterns_match_everything(source):
    assert not selects(source, "C")


def test_it_keeps_its_reserved_name_on_the_target_for_the_drill_alone():
    def conflicts(flow):
        return find_conflicts([Named(flow, NAMES.topic, NAMES.topic)], TargetNames())

    assert not conflicts(NAMES.flow)
    assert conflicts("A->B")


def test_drills_of_both_directions_have_nothing_in_common():
    other = DrillNames("B", "A")
    for each in ("topic", "group", "source_alias", "target_alias", "flow"):
        assert getattr(NAMES, each) != getattr(other, each)
    assert canary_of("A") is None
