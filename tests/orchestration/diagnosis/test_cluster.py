"""What a diagnosis says of a cluster: version, brokers, disks, quotas, clock."""

from __future__ import annotations

import pytest
from support.settings.configs import a_flow

from orchestration.diagnosis.cluster import Use, judge_cluster
from orchestration.diagnosis.finding import FindingLevel
from replication.client.cluster_facts import ClusterFacts, LogDir, Quota
from replication.settings.topic_settings import TopicCreation


def target(factor=3, users=()):
    flow = a_flow().model_copy(update={"creation": TopicCreation(replication_factor=factor)})
    return Use("B", (), (flow,), frozenset(users))


def judged(use, versions=((4, 3),), brokers=3, **facts):
    found = ClusterFacts("id", {n: f"b{n}:9092" for n in range(brokers)}, **facts)
    return {each.check: each for each in judge_cluster(use, found, versions)}


def test_a_broker_without_fetch_by_topic_id_is_too_old():
    assert judged(target(), [(3, 1)])["version"].level is FindingLevel.OK
    old = judged(target(), [(4, 3), (3, 0)])["version"]
    assert (old.level, old.what) == (FindingLevel.ERROR, "Kafka 3.0, 4.3 is too old")


def test_a_replication_factor_above_the_brokers_is_an_error_and_1_of_several_a_warning():
    assert "replication factor" not in judged(target(3))
    high = judged(target(3), brokers=2)["replication factor"]
    assert high.level is FindingLevel.ERROR
    assert "A->B creates topics with replication.factor = 3, and there are 2 brokers" in high.what
    assert judged(target(1))["replication factor"].level is FindingLevel.WARNING
    assert "replication factor" not in judged(target(1), brokers=1)
    assert judged(target(1), brokers=1)["brokers"].level is FindingLevel.NOTE


@pytest.mark.parametrize(
    ("free", "level"),
    [(0.10, FindingLevel.OK), (0.099, FindingLevel.WARNING), (0.029, FindingLevel.ERROR)],
)
def test_the_fullest_disk_of_a_target_decides(free, level):
    dirs = LogDir(1, "/a", 1000, 900), LogDir(2, "/b", 10**12, int(free * 10**12))
    found = judged(target(), log_dirs=dirs)["disk"]
    assert (found.level, found.what.split(" ")[1]) == (level, "2:")


def test_a_full_disk_of_a_source_is_no_concern_of_ours_and_an_offline_one_is():
    source = Use("A", (a_flow(),))
    assert judged(source, log_dirs=(LogDir(1, "/a", 1000, 1),))["disk"].level is FindingLevel.OK
    offline = judged(
        source, log_dirs=(LogDir(1, "/a", None, None, "error 56 (KAFKA_STORAGE_ERROR)"),)
    )["disk"]
    assert offline.level is FindingLevel.ERROR


def test_quotas_of_our_user_and_defaults_are_named_and_those_of_others_are_not():
    rate = {"producer_byte_rate": 1_000_000.0}
    quotas = (
        Quota((("user", "other"),), rate),
        Quota((("user", None),), {"consumer_byte_rate": 1.0}),
    )
    assert "quota" not in judged(target(users=["mirror"]), quotas=quotas)
    mine = (*quotas, Quota((("user", "mirror"),), rate))
    assert judged(target(users=["mirror"]), quotas=mine)["quota"].what == (
        "quota producer_byte_rate = 1 MB/s a broker for user mirror limits how fast records are "
        "written"
    )


def test_clocks_that_differ_by_seconds_are_a_warning_and_by_a_minute_an_error():
    assert judged(target(), clock_ahead_ms=-1999)["clock"].level is FindingLevel.OK
    assert judged(target(), clock_ahead_ms=2000)["clock"].level is FindingLevel.WARNING
    far = judged(target(), clock_ahead_ms=-60_000)["clock"]
    assert (far.level, far.what[:43]) == (
        FindingLevel.ERROR,
        "the controller's clock is 60.0 s behind thi",
    )


def test_what_a_cluster_does_not_say_is_a_note_with_the_reason():
    found = judged(target(), unknown={"quotas": "it needs DESCRIBE_CONFIGS"})["quotas"]
    assert (found.level, found.what) == (FindingLevel.NOTE, "not known: it needs DESCRIBE_CONFIGS")
