"""What ``isthmus offsets set`` and ``import`` say when there is nothing to change."""

from __future__ import annotations

import pytest

from orchestration.cli.positions.group_offsets import _carry_out
from replication.model import TopicPartition
from replication.offsets.consumer_groups import Committed


class UpToDate:
    """A target on which every group is where it should be."""

    def towards(self, _desired, *, rewind: bool) -> tuple[()]:
        assert not rewind
        return ()


@pytest.mark.parametrize(
    ("desired", "said"),
    [
        ({"g": {TopicPartition("A.orders", 0): Committed(5)}}, "have these offsets already"),
        ({}, "there is no offset to set"),
    ],
)
def test_an_import_without_offsets_is_not_said_to_be_done(capsys, desired, said):
    _carry_out(UpToDate(), desired, [], yes=True, rewind=False)
    assert said in capsys.readouterr().out
