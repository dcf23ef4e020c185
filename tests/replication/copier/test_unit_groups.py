"""A unit that continues from one epoch to the next, between clusters in memory."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from support.copier.two_clusters import HERE, TwoClusters, a_spec

from replication.adapters.unit_sockets import UnixUnitSockets
from replication.errors import ClusterUnavailable
from replication.model import PartitionPlan, TopicPartition
from replication.records.codec import encode, plain_record
from replication.state import Control, FlowStatus, anchors_topic, status_topic

THERE = TopicPartition("orders", 1)
SOON_S = 30.0


def published(clusters: TwoClusters, record) -> None:
    """Write a record to the status topic of the target."""
    log = clusters.target.logs[TopicPartition(status_topic("A"), 0)]
    log.append(bytes(encode([plain_record(0, record.key(), record.value())])))


@pytest.fixture
def pair():
    made = TwoClusters(grace_s=SOON_S)
    yield made
    made.close()


def eventually(holds) -> None:
    deadline = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_invariant_h_the_next_epoch_goes_on_with_what_is_open(pair):
    for epoch in range(4):
        pair.feed(b"%d" % epoch)
        report = pair.copy(epoch)
        assert (report.outcome, report.epoch, report.records) == ("clean", epoch, 1)
        assert (report.takeovers, report.in_grace) == (0, 1)
    assert pair.starts() == 1
    assert pair.copied() == [b"0", b"1", b"2", b"3"]
    assert not any(each.clean for each in pair.anchors())


def test_what_comes_between_epochs_is_copied_and_told_with_the_next(pair):
    assert pair.copy(0).records == 0
    pair.feed(b"between")
    eventually(lambda: pair.copied() == [b"between"])
    assert pair.copy(1).records == 1


def test_a_unit_that_nobody_comes_for_ends_cleanly_and_its_figures_are_kept(pair):
    pair.copy(0, grace_s=1.0)
    pair.feed(b"late")
    eventually(lambda: pair.anchors()[-1].clean)
    assert pair.copied() == [b"late"]
    report = pair.copy(1)
    assert (report.takeovers, report.records) == (0, 1)
    assert pair.starts() == 2


def test_after_the_drivers_last_word_a_unit_ends_before_it_reports(pair):
    spec = a_spec(3, epoch_s=60, grace_s=SOON_S)
    reports = []
    task = threading.Thread(target=lambda: reports.append(pair.host.copy(spec, pair.connect)))
    task.start()
    eventually(lambda: pair.starts() == 1)
    published(pair, Control("A->B", 1, 3, last=True))
    task.join(SOON_S)
    assert [each.in_grace for each in reports] == [0]
    assert pair.anchors()[-1].clean


def test_the_drivers_last_word_ends_a_unit_between_epochs_too(pair):
    assert pair.copy(3).in_grace == 1
    published(pair, Control("A->B", 1, 3, last=True))
    eventually(lambda: pair.anchors()[-1].clean)
    pair.feed(b"after")
    # A unit that had not ended would copy it before the next epoch, and go on in it.
    assert pair.copy(4).records == 1
    assert pair.starts() == 2


def test_the_end_of_an_epoch_alone_ends_no_unit(pair):
    pair.copy(3)
    published(pair, Control("A->B", 1, 3))
    pair.feed(b"on")
    eventually(lambda: pair.copied() == [b"on"])
    assert not any(each.clean for each in pair.anchors())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"isolation": "read_uncommitted"}, id="isolation"),
        pytest.param({"anchor_every_s": 0.04}, id="a setting"),
    ],
)
def test_invariant_e_another_plan_begins_with_a_clean_end(pair, change):
    pair.feed(b"a")
    pair.copy(0)
    pair.feed(b"b")
    report = pair.copy(1, **change)
    assert (report.outcome, report.takeovers) == ("clean", 0)
    assert pair.starts() == 2
    assert pair.copied() == [b"a", b"b"]


def test_a_newer_driver_ends_a_unit_between_epochs(pair):
    pair.copy(0)
    published(pair, FlowStatus("A->B", generation=2, host="elsewhere", pid=7))
    eventually(lambda: not pair.host.holds("A->B", 0))
    assert not pair.anchors()[-1].clean


def test_invariant_h_who_copies_elsewhere_is_fenced_and_counted_and_ends(pair):
    pair.feed(b"a", b"b")
    pair.copy(0)
    report = pair.copy(1, pair.another(), epoch_s=0.5)
    assert (report.outcome, report.takeovers, report.records) == ("clean", 1, 0)
    pair.feed(b"c", b"d")
    eventually(lambda: len(pair.copied()) == 4)
    eventually(lambda: not pair.host.holds("A->B", 0))
    assert pair.copied() == [b"a", b"b", b"c", b"d"]


def test_invariant_b_a_process_that_died_between_epochs_left_nothing_to_be_repeated(pair):
    pair.feed(*[b"%d" % each for each in range(50)])
    pair.copy(0)
    early = replace(pair.anchors()[0], source=0, target=0, records=0, bytes=0, clean=False)
    log = pair.target.logs[TopicPartition(anchors_topic("A"), 0)]
    log.append(bytes(encode([plain_record(0, early.key(), early.value())])))
    report = pair.copy(1, pair.another())
    assert (report.outcome, report.takeovers) == ("clean", 1)
    assert pair.copied() == [b"%d" % each for each in range(50)]


BOTH = (PartitionPlan(HERE, HERE), PartitionPlan(THERE, THERE))


def test_a_partition_that_is_added_disturbs_no_other(pair):
    pair.feed(b"a")
    pair.copy(0)
    pair.feed(b"b")
    pair.feed(b"c", partition=THERE)
    report = pair.copy(1, partitions=BOTH)
    assert (report.outcome, report.takeovers, report.records) == ("clean", 0, 2)
    assert (pair.copied(), pair.copied(THERE)) == ([b"a", b"b"], [b"c"])
    assert not any(each.clean for each in pair.anchors() if each.partition == 0)


def test_a_partition_that_leaves_ends_cleanly_and_may_come_back(pair):
    pair.feed(b"a")
    pair.feed(b"b", partition=THERE)
    assert pair.copy(0, partitions=BOTH).records == 2
    assert pair.copy(1).records == 0
    last = {each.partition: each.clean for each in pair.anchors()}
    assert last == {0: False, 1: True}
    pair.feed(b"c")
    pair.feed(b"d", partition=THERE)
    assert pair.copy(2).records == 1
    report = pair.copy(3, partitions=BOTH)
    assert (report.outcome, report.takeovers, report.records) == ("clean", 0, 1)
    assert (pair.copied(), pair.copied(THERE)) == ([b"a", b"c"], [b"b", b"d"])


def test_a_topic_that_was_recreated_is_placed_anew(pair):
    pair.feed(b"a")
    pair.copy(0)
    pair.feed(b"b")
    report = pair.copy(1, partitions=(PartitionPlan(HERE, HERE, "aa"),))
    assert (report.outcome, report.takeovers, pair.starts()) == ("clean", 0, 2)
    assert pair.copied() == [b"a", b"b"]


def test_a_change_that_fails_leads_to_a_new_start(pair):
    pair.feed(b"a")
    pair.copy(0)
    refresh, failed = pair.source.refresh, []

    async def refusing(topics):
        if not failed:
            failed.append(topics)
            raise ClusterUnavailable("the source does not answer")
        await refresh(topics)

    pair.source.refresh = refusing
    pair.feed(b"b", partition=THERE)
    report = pair.copy(1, partitions=BOTH)
    assert (report.outcome, report.takeovers, report.records) == ("clean", 0, 1)
    assert failed
    assert (pair.copied(), pair.copied(THERE)) == ([b"a"], [b"b"])


def test_a_partition_that_is_not_copied_is_tried_again_with_every_epoch(pair):
    pair.feed(b"a")
    pair.feed(b"refused", partition=THERE)
    pair.target.refuse = lambda _, batch: 29 * (b"refused" in bytes(batch))
    assert pair.copy(0, partitions=BOTH).not_running == 1
    starts = pair.starts()
    pair.target.refuse = lambda *_: 0
    report = pair.copy(1, partitions=BOTH)
    assert (report.not_running, report.takeovers, pair.starts()) == (0, 0, starts + 1)
    assert not any(each.clean for each in pair.anchors() if each.partition == 0)
    assert (pair.copied(), pair.copied(THERE)) == ([b"a"], [b"refused"])


class TestProcessesOfOneMachine:
    """The unit's epochs are given to one process, then to another one of the same machine."""

    def test_the_process_that_copies_goes_on_for_the_other(self, pair):
        first, second = pair.another(UnixUnitSockets()), pair.another(UnixUnitSockets())
        for epoch in range(4):
            pair.feed(b"%d" % epoch)
            report = pair.copy(epoch, (first, second)[epoch % 2], generation=71)
            assert (report.outcome, report.epoch, report.records) == ("clean", epoch, 1)
        assert pair.starts() == 1
        assert pair.copied() == [b"0", b"1", b"2", b"3"]

    def test_what_has_ended_is_begun_where_it_is_asked_for(self, pair):
        first, second = pair.another(UnixUnitSockets()), pair.another(UnixUnitSockets())
        pair.copy(0, first, generation=72, grace_s=0.05)
        eventually(lambda: pair.anchors()[-1].clean)
        assert pair.copy(1, second, generation=72).takeovers == 0
        assert pair.starts() == 2

    def test_another_plan_ends_cleanly_and_begins_there(self, pair):
        first, second = pair.another(UnixUnitSockets()), pair.another(UnixUnitSockets())
        pair.copy(0, first, generation=73)
        report = pair.copy(1, second, generation=73, anchor_every_s=0.04)
        assert (report.takeovers, pair.starts()) == (0, 2)

    def test_a_process_that_copies_too_much_lets_go(self, pair):
        first, second = pair.another(UnixUnitSockets()), pair.another(UnixUnitSockets())
        mine = [{"generation": 74, "unit": n, "partitions": BOTH[n : n + 1]} for n in (0, 1)]
        for more in mine:
            pair.copy(0, first, **more)
        assert pair.copy(1, second, **mine[0]).takeovers == 0
        assert pair.starts() == 3
        assert pair.copy(1, second, **mine[1]).takeovers == 0
        assert pair.starts() == 3


def test_another_byte_rate_is_in_force_without_another_start(pair):
    pair.copy(0)
    pair.feed(b"slow")
    pair.copy(1, bytes_per_second=70_000)
    eventually(lambda: pair.copied() == [b"slow"])
    ((unit,),) = [[each.unit for each in g._groups] for g in pair.host._unit_groups.values()]
    assert unit._engine.rate_control.backoff.rate == 70_000
    assert unit._engine.upkeep.fetchers._throttle.rate == 70_000
    pair.copy(2)
    assert unit._engine.upkeep.fetchers._throttle.rate == 0
    assert pair.starts() == 1


def test_what_brokers_throttled_is_reported_once_and_not_what_they_did_to_other_units(pair):
    pair.target.throttled_ms = 5_000
    first = pair.copy(0)
    pair.target.throttled_ms += 300
    pair.source.throttled_ms += 20
    second, third = pair.copy(1), pair.copy(2)
    assert (first.source_throttled_ms, first.target_throttled_ms) == (0, 0)
    assert (second.source_throttled_ms, second.target_throttled_ms) == (20, 300)
    assert (third.source_throttled_ms, third.target_throttled_ms) == (0, 0)
