"""Why a cluster tells no end of a partition, and who says so."""

from __future__ import annotations

import re
import time

import pytest
from support.fakes.memory_admin import MemoryCluster
from support.settings.configs import a_config, a_flow

from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.unknown_ends import unknown_end
from orchestration.switchover.source_clients import SourceClients
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition

HERE = TopicPartition("t", 1)
DENIED = "Isthmus' user may not describe t on A: grant it DESCRIBE and READ on the topic"
NO_LEADER = "t-1 has no leader on A: start its brokers"


class Source(MemoryCluster):
    """A cluster that tells no end of ``HERE``."""

    def end_offsets(self, partitions):
        return {each: 5 for each in partitions if each != HERE}


def a_source(*, denied: bool = False, topics: int = 1) -> Source:
    source = Source({"t": 2} if topics else {})
    source.denied |= {"t"} if denied else set()
    return source


def test_what_is_missing_is_said_of_a_topic_that_is_denied_gone_or_without_a_leader():
    denied, gone, leaderless = (
        unknown_end(each, HERE, "A")
        for each in (a_source(denied=True), a_source(topics=0), a_source())
    )
    assert repr(denied) == repr(ClusterRejected(DENIED))
    assert repr(gone) == repr(ClusterUnavailable("t is not on A any more"))
    assert repr(leaderless) == repr(ClusterUnavailable(NO_LEADER))


@pytest.mark.parametrize(
    ("denied", "kind", "why"),
    [(True, ClusterRejected, DENIED), (False, ClusterUnavailable, NO_LEADER)],
    ids=["denied", "without a leader"],
)
def test_whether_anybody_writes_to_such_a_partition_is_not_known(denied, kind, why):
    class Clusters:
        def source(self, _):
            return a_source(denied=denied)

    clients = SourceClients(a_flow(), a_config(), Clusters(), None, None)
    with pytest.raises(kind, match=f"^{re.escape(why)}$"):
        clients._readable([TopicPartition("t", 0), HERE])


def test_a_right_that_is_missing_is_not_waited_for_until_all_is_copied():
    comparison = FlowComparison.__new__(FlowComparison)
    comparison.flow, comparison._source = a_flow(), a_source(denied=True)
    with pytest.raises(ClusterRejected, match=f"all of t-1 is copied is not known: {DENIED}"):
        comparison._all_ends([HERE], limit := time.monotonic() + 5)
    assert time.monotonic() < limit
    comparison._source = a_source()
    with pytest.raises(ClusterUnavailable, match=f"t-1 is copied is not known: {NO_LEADER}"):
        comparison._all_ends([HERE], time.monotonic())
