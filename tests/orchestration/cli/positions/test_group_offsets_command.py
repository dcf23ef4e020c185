"""What ``isthmus offsets`` says where there is nothing to change, or no translation yet."""

from __future__ import annotations

import pytest

from orchestration.cli.positions.group_offsets import _carry_out
from orchestration.cli.positions.offsets import _late
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import Committed
from replication.state import Anchor


class UpToDate:
    """A target on which every group is where it should be."""

    def towards(self, _desired, *, rewind: bool) -> tuple[()]:
        assert not rewind
        return ()


@pytest.mark.parametrize(
    ("desired", "output"),
    [
        ({"g": {TopicPartition("A.orders", 0): Committed(5)}}, "have these offsets already"),
        ({}, "there is no offset to set"),
    ],
)
def test_an_import_without_offsets_is_not_said_to_be_done(capsys, desired, output):
    _carry_out(UpToDate(), desired, [], yes=True, rewind=False)
    assert output in capsys.readouterr().out


@pytest.mark.parametrize(
    ("offset", "reverse", "why"),
    [
        (100, False, "is not copied yet: the flow has copied offsets below 100"),
        (99, False, "the source has lost the record that was copied there, or a transaction"),
        (99, True, "is behind the first record of an open transaction"),
    ],
)
def test_an_offset_below_the_copied_ones_is_not_said_to_be_behind_them(offset, reverse, why):
    anchor = Anchor("A->B", "orders", 0, "A.orders", 100, 90, state="SOURCE_TRUNCATED")
    assert why in _late(offset, anchor, reverse)
