"""docs/alerts.md has every state of flows and partitions, and says what the code does with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.states import states_page

from replication.model import NEEDS_NO_ACTION, FlowState, PartitionState
from replication.supervision.partition_states import needs_somebody

HEALTH = Path(__file__).parents[2] / "replication" / "supervision" / "health.py"


def test_the_page_has_the_states_of_the_code_and_no_others():
    own = set(re.findall(r'Health\(\s*"([A-Z]+)"', HEALTH.read_text()))  # no driver says these
    assert states_page.of_flows().keys() == {*map(str, FlowState), *own}
    assert states_page.of_partitions().keys() == set(map(str, PartitionState))


@pytest.mark.parametrize("state", PartitionState)
def test_whoever_reads_the_page_expects_what_happens(state):
    row = states_page.of_partitions()[state]
    assert row.passes is (state in NEEDS_NO_ACTION)
    assert (row.metric == "none") is (state in NEEDS_NO_ACTION)
    assert row.is_told is (state not in NEEDS_NO_ACTION)
    assert row.alert.startswith("at once") is needs_somebody(state)
