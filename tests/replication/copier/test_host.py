"""A unit from end to end between clusters in memory, and what its host reports."""

from __future__ import annotations

import pytest
from support.copier.two_clusters import HERE, TwoClusters, a_spec, ungranted
from support.records.record_batches import a_batch

from replication.copier.host import Host
from replication.copier.produce import sender
from replication.errors import ClusterUnavailable, ConfigError
from replication.model import PartitionPlan
from replication.state import PRODUCERS_TOPIC, anchors_topic


@pytest.fixture
def pair():
    two = TwoClusters()
    yield two
    two.close()


def test_an_epoch_copies_what_is_there_and_the_next_goes_on(pair):
    pair.feed(*[b"%d" % each for each in range(200)])
    assert pair.copy().outcome == "clean"
    pair.feed(b"more")
    report = pair.copy(epoch=1)
    assert (report.outcome, report.records, report.takeovers) == ("clean", 1, 0)
    assert pair.target.logs[HERE].values() == [*(b"%d" % each for each in range(200)), b"more"]


def test_invariant_f_a_producer_id_is_registered_and_acked_before_its_first_append(pair):
    pair.feed(b"a")
    pair.copy()
    happened = pair.target.events
    registered = happened.index(("ack", PRODUCERS_TOPIC, 0))
    assert registered < happened.index(("append", HERE.topic, 0))
    claimed = happened.index(("ack", anchors_topic("A"), 0))
    assert claimed < happened.index(("append", HERE.topic, 0))


def test_invariant_f_nothing_is_appended_when_registering_is_refused(pair):
    pair.feed(b"a")
    pair.target.refuse = lambda topic, _: 29 if topic == PRODUCERS_TOPIC else 0
    report = pair.copy()
    assert PRODUCERS_TOPIC in report.outcome
    assert pair.target.logs[HERE].values() == []
    assert report.not_running == 1


def test_what_is_counted_after_a_crash_is_neither_repeated_nor_counted_twice(pair):
    pair.feed(*[b"%d" % each for each in range(100)])
    pair.copy()
    pair.crash()
    pair.source.down = True  # so the next one ends before it has skipped what it counted
    assert pair.copy(epoch=1, epoch_s=0.3).takeovers == 1
    assert pair.anchors()[-1].records == 0
    pair.source.down = False
    report = pair.copy(epoch=2)
    assert (report.outcome, report.takeovers, report.records) == ("clean", 1, 100)
    assert pair.anchors()[-1].records == 100
    assert pair.target.logs[HERE].values() == [b"%d" % each for each in range(100)]


def test_invariant_e_another_isolation_waits_for_a_clean_end(pair):
    used: list[int] = []
    fetch = pair.source.fetch

    def noting(node, entries, options, into):
        used.append(options.isolation)
        return fetch(node, entries, options, into)

    pair.source.fetch = noting
    pair.feed(b"a")
    pair.copy(isolation="read_uncommitted")
    pair.crash()
    pair.copy(epoch=1, isolation="read_committed")
    assert set(used) == {0}  # what is counted was deliverable under the former isolation
    assert pair.anchors()[-1].isolation == "read_uncommitted"
    used.clear()
    pair.copy(epoch=2, isolation="read_committed")
    assert set(used) == {1}
    assert pair.target.logs[HERE].values() == [b"a"]


def test_a_target_that_grants_no_producer_id_says_which_acl_is_missing(pair):
    pair.target.init_producer_id = ungranted
    outcome = pair.copy(delivery="append").outcome
    assert "WRITE and DESCRIBE on the TransactionalId isthmus.A->B" in outcome


def test_a_source_that_is_down_for_a_moment_costs_no_epoch(pair):
    pair.feed(b"a")
    refresh, calls = pair.source.refresh, []

    async def failing(topics):
        calls.append(topics)
        if len(calls) == 1:
            raise ClusterUnavailable("down")
        await refresh(topics)

    pair.source.refresh = failing
    assert pair.copy(epoch_s=1.0).outcome == "clean"
    assert pair.target.logs[HERE].values() == [b"a"]


def test_records_are_sent_small_batches_merged_and_in_order(pair):
    pair.feed(*[b"%d" % each for each in range(500)])
    pair.copy()
    appends = [each for each in pair.target.events if each == ("append", HERE.topic, 0)]
    assert len(appends) < 50
    assert pair.target.logs[HERE].values() == [b"%d" % each for each in range(500)]


def test_a_merged_batch_that_is_too_large_is_sent_in_parts(pair):
    pair.feed(*[b"%d" % each for each in range(40)])
    pair.target.refuse = lambda topic, batch: 10 * (topic == HERE.topic and len(batch) > 200)
    report = pair.copy()
    assert (report.outcome, report.not_running) == ("clean", 0)
    assert pair.target.logs[HERE].values() == [b"%d" % each for each in range(40)]


def test_anchors_follow_soon_where_a_takeover_would_have_much_to_count(pair, monkeypatch):
    monkeypatch.setattr(sender, "_ANCHORS_DUE_BYTES", 2000)
    pair.feed(*[b"%d" % each * 500 for each in range(20)])
    pair.copy(anchor_every_s=60)
    between = {each.source for each in pair.anchors() if not each.clean}
    assert between - {0, None}


@pytest.mark.parametrize("problem", [ConfigError("key store: no such file"), ClusterUnavailable()])
def test_ends_that_cannot_be_made_are_the_reports_outcome(problem):
    def connect(*_):
        raise problem

    host = Host()
    report = host.copy(a_spec(), connect)
    host.close()
    assert report.outcome == str(problem)
    assert (report.records, report.not_running) == (0, 1)


def test_a_host_closes_its_connections_once():
    two = TwoClusters()
    two.copy()
    two.close()
    two.close()
    assert two.target.events.count(("close",)) == 1


def test_what_a_unit_is_reported_can_be_logged_without_its_passwords():
    spec = a_spec(source={"sasl.jaas.config": "secret"}, target={"ssl.key": "secret"})
    assert "secret" not in repr(spec)


def test_a_registry_that_may_not_be_seen_stops_a_flow_that_copies_come_back_by():
    plans = (PartitionPlan(HERE, HERE, origins="producer-id"),)
    pair = TwoClusters()
    pair.source.hidden = {PRODUCERS_TOPIC}
    pair.source.logs[HERE].append(a_batch(0, [b"a"], (5, 0, 0)))
    assert pair.copy(partitions=plans, source_has_copies=True, epoch_s=0.3).records == 0
    assert "READ and DESCRIBE" in pair.anchors()[-1].reason
    assert pair.copy(partitions=plans, generation=2).records == 1  # nobody copies to the source
