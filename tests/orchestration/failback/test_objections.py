"""What prevents the deletion of a topic on the source, to fill it anew from its copy."""

from __future__ import annotations

import pytest
from support.fakes.memory_admin import MemoryCluster
from support.fakes.state_logs import LogStore

from orchestration.failback.objections import Objections
from replication.config.load import load_config
from replication.state import Anchor, ProvenPosition, anchors_topic

KEPT = "replication.policy.class = IdentityReplicationPolicy\n"
_HEADERS = "cycle.prevention = headers\nprovenance.headers = true\n"
BOTH = "A->B.enabled = true\nB->A.enabled = true\n"


class Side(MemoryCluster):
    leaderless: frozenset[int] = frozenset()  # numbers of partitions
    stable: int = 5  # what follows it is of open transactions

    def topic_names(self):
        return {*self.counts}

    def end_offsets(self, partitions, *, undecided=False):
        end = 5 if undecided else self.stable
        return {each: end for each in partitions if each.partition not in self.leaderless}


class Clients:
    """The source, and the state on it that flows which copy there keep."""

    def __init__(self, side: Side, *anchors: Anchor) -> None:
        self.side, self.kept = side, LogStore()
        for each in anchors:
            topic = anchors_topic(each.flow.partition("->")[0])
            side.counts[topic] = 1
            self.kept.write(topic, each)

    def source(self, _):
        return self.side

    def store(self, _):
        return self.kept


def found(folder, lines: str = KEPT + BOTH, *anchors: Anchor, side: Side | None = None) -> str:
    file = folder / "f.properties"
    servers = "".join(f"{each}.bootstrap.servers = {each}:9092\n" for each in "ABC")
    file.write_text(f"clusters = A, B, C\n{servers}topics = t\n{lines}")
    config = load_config(file).config
    clients = Clients(side or Side({"t": 2}), *anchors)
    objections = Objections(config.flow("A->B"), config.flow("B->A"), config, clients)
    positions = [ProvenPosition("A->B", "op", "t", number) for number in range(2)]
    return "; ".join(objections.to({"t"}, positions))


def test_nothing_stands_against_a_lone_pair(tmp_path):
    assert found(tmp_path, KEPT + BOTH, Anchor("B->A", "t", 0, "t", 3, 3)) == ""


def an_anchor(flow: str, target: str, source: int | None = 3) -> Anchor:
    return Anchor(flow, "u", 0, target, source, 3)


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        (BOTH, "needs flows that keep the name of t"),
        (KEPT + BOTH + _HEADERS, "needs flows that keep the name of t"),
        (KEPT + BOTH + "A->C.enabled = true\n", "A->C also copies t from A"),
    ],
)
def test_what_cannot_be_filled_or_has_other_readers_stays(tmp_path, lines, reported):
    assert reported in found(tmp_path, lines)


def test_a_flow_that_does_not_read_the_topic_is_no_obstacle(tmp_path):
    assert found(tmp_path, KEPT + BOTH + "A->C.enabled = true\nA->C.topics = other\n") == ""


def test_whoever_else_copies_there_is_found_by_its_anchors_also_of_another_file(tmp_path):
    assert "X->A copies to t on A too" in found(tmp_path, KEPT + BOTH, an_anchor("X->A", "t"))
    assert found(tmp_path, KEPT + BOTH, an_anchor("X->A", "u"), an_anchor("Y->A", "t", None)) == ""


def test_a_topic_that_could_not_be_created_again_stays(tmp_path):
    reported = found(tmp_path, side=Side({"t": 2}, replicas=3, brokers=2))
    assert "t has 3 replicas, and A has 2 brokers now" in reported


def test_a_partition_that_was_never_copied_stays(tmp_path):
    assert "t-2 on A was never copied" in found(tmp_path, side=Side({"t": 3}))


def test_a_partition_that_may_never_have_been_copied_stays(tmp_path):
    side = Side({"t": 3})
    side.leaderless = frozenset({2})
    assert "t-2 that were never copied cannot be ruled out: t-2 has no leader on A: start" in found(
        tmp_path, side=side
    )


def test_a_topic_that_our_user_may_not_describe_is_not_deleted(tmp_path):
    side = Side({"t": 2})
    side.denied.add("t")
    assert found(tmp_path, side=side) == (
        "Isthmus' user may not describe t on A: grant it DESCRIBE on the topic, and the rights "
        "that the failback needs"
    )


def test_a_partition_with_nothing_but_an_open_transaction_stays(tmp_path):
    side = Side({"t": 3})
    side.stable = 0
    assert "t-2 on A was never copied" in found(tmp_path, side=side)
