"""What ``isthmus offsets`` says where there is nothing to change, or no translation yet."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from orchestration.cli.positions.group_differences import require_all
from orchestration.cli.positions.group_offsets import _carry_out
from orchestration.cli.positions.offsets import _late
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import Committed
from replication.offsets.groups.group_sync import GroupSync
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
        (99, True, "is after the first record of an open transaction on the target"),
    ],
)
def test_an_offset_below_the_copied_ones_is_not_said_to_be_behind_them(offset, reverse, why):
    anchor = Anchor("A->B", "orders", 0, "A.orders", 100, 90, state="SOURCE_TRUNCATED")
    assert why in _late(offset, anchor, reverse)


@pytest.mark.parametrize(
    ("part", "found", "kind", "why"),
    [
        (
            "offsets",
            ClusterUnavailable("no leader"),
            ClusterUnavailable,
            "groups were left out: no",
        ),
        ("offsets", ClusterRejected("denied"), ClusterRejected, "groups were left out: denied"),
        (
            "source",
            "denied",
            ClusterRejected,
            "group g was left out: its offsets on A are unknown",
        ),
    ],
)
def test_what_was_left_out_fails_and_is_tried_again_only_where_time_helps(part, found, kind, why):
    offsets = SimpleNamespace(errors={TopicPartition("t", 0): found} if part == "offsets" else {})
    source = Groups()
    source.unreadable = {"g": found} if part == "source" else {}
    sync = GroupSync(a_flow(), None, offsets, source, Groups())
    with pytest.raises(kind, match=why):
        require_all(sync, a_flow())
