"""Anchors are written after the offset points that they name."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from support.copier.append_leases import held
from support.copier.partition_copies import a_partition, a_start
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster

from replication.client.error_codes import ErrorCode
from replication.client.state_topic.state_log import StateLog
from replication.copier.anchor_writer import AnchorWriter
from replication.copier.takeover.connections import new_connections
from replication.state import anchors_topic


class Writing:
    """A partition that has offset points to write, and the writer of its anchors."""

    def __init__(self) -> None:
        self.target = MemoryCluster()
        takeover = new_connections(
            a_spec(flow="f"), MemoryCluster("source"), self.target, {}
        ).takeover
        self.partition = a_partition(a_start())
        self.partition.exact = True
        points = StateLog(self.target, "points")
        self.writer = AnchorWriter(1.0, points, takeover, None, SimpleNamespace(lease=held()))
        self.writer.add([self.partition])

    def end(self) -> list[tuple]:
        """End cleanly; return what happened on the target."""
        asyncio.run(self.writer.end_cleanly([self.partition]))
        return [each for each in self.target.events if each[0] in {"append", "ack"}]


def test_offset_points_are_acked_before_the_anchor_that_names_them_is_appended():
    writing = Writing()
    assert writing.partition.offset_points.pending
    anchors = anchors_topic("A")
    assert writing.end() == [
        ("append", "points", 0), ("ack", "points", 0),
        ("append", anchors, 0), ("ack", anchors, 0),
    ]  # fmt: skip
    assert not writing.partition.offset_points.pending


@pytest.mark.parametrize("refused", ["points", anchors_topic("A")])
def test_where_either_is_refused_the_anchor_is_still_due(refused):
    writing = Writing()
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    writing.target.refuse = lambda topic, _: code if topic == refused else 0
    happened = writing.end()
    assert happened[-1] == ("ack", refused, code)  # no anchor without its points
    assert writing.writer.anchor_changes == {writing.partition}
