"""Positions in Connect's offsets topic: the exact bytes, and which of them Connect accepts."""

from __future__ import annotations

import json

import pytest

from replication.mm2.progress import (
    CHECKPOINT,
    HEARTBEAT,
    SOURCE,
    StoredOffset,
    connectors,
    key_of,
    newest,
    parse_offset,
    positions,
    problem_of,
)
from replication.model import TopicPartition

KEY = b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'
ORDERS = TopicPartition("t", 0)
PLACES = {
    SOURCE: {"cluster": "A", "partition": 3, "topic": "t"},
    CHECKPOINT: {"group": "g", "topic": "A.t", "partition": 0},
    HEARTBEAT: {"sourceClusterAlias": "x", "targetClusterAlias": "y"},
}
KINDS = pytest.mark.parametrize("connector", [SOURCE, CHECKPOINT, HEARTBEAT])


def without(place, name):
    return {key: value for key, value in place.items() if key != name}


@pytest.mark.parametrize(
    ("connector", "key"),
    [
        (SOURCE, '["MirrorSourceConnector",{"cluster":"A","partition":3,"topic":"t"}]'),
        (CHECKPOINT, '["MirrorCheckpointConnector",{"partition":0,"topic":"A.t","group":"g"}]'),
        (
            HEARTBEAT,
            '["MirrorHeartbeatConnector",{"sourceClusterAlias":"x","targetClusterAlias":"y"}]',
        ),
    ],
)
def test_hb_10_keys_have_their_members_in_javas_order(connector, key):
    assert key_of(connector, PLACES[connector]) == key.encode()


def test_a_position_is_connects_own_json_both_ways():
    stored = StoredOffset("A", ORDERS, 123)
    assert (stored.key(), stored.value()) == (KEY, b'{"offset":123}')
    assert parse_offset(KEY, b'{"offset":123}') == stored


def test_a_tombstone_is_a_reset():
    stored = StoredOffset("A", ORDERS, None)
    assert stored.value() is None
    assert parse_offset(KEY, None) == stored
    assert positions([stored], "A") == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(None, b"{}", id="no key"),
        pytest.param(b"hello", b'{"offset":1}', id="no JSON"),
        pytest.param(b"[1]", b'{"offset":1}', id="another shape"),
        pytest.param(KEY, b"nonsense", id="no JSON in the value"),
        pytest.param(key_of(CHECKPOINT, PLACES[CHECKPOINT]), b'{"offset":0}', id="checkpoints"),
        pytest.param(b'["MirrorSourceConnector",7]', None, id="a malformed reset"),
        pytest.param(KEY, b'{"offset":-1}', id="a negative offset"),
        pytest.param(KEY, b'{"offset":"x"}', id="no number"),
        pytest.param(KEY, b"{}", id="no offset"),
    ],
)
def test_records_of_others_are_none_of_ours(key, value):
    assert parse_offset(key, value) is None


def test_the_newest_record_of_a_key_counts_and_other_clusters_are_left_out():
    other = StoredOffset("C", ORDERS, 9)
    records = [(KEY, b'{"offset":1}'), (other.key(), other.value()), (KEY, b'{"offset":2}')]
    assert positions(newest(records).values(), "A") == {ORDERS: 2}


def test_a_connector_may_have_any_name():
    other = StoredOffset("A", ORDERS, 7, "my-mirror")
    assert other.key() == KEY.replace(b"MirrorSourceConnector", b"my-mirror")
    stored = [StoredOffset("A", ORDERS, 3), other, StoredOffset("C", ORDERS, 9, "third")]
    assert parse_offset(other.key(), other.value()) == other
    assert positions(stored, "A") == {ORDERS: 7}
    assert connectors(stored, "A") == ("MirrorSourceConnector", "my-mirror")
    assert connectors([], "A") == ("MirrorSourceConnector",)


@KINDS
def test_sc_21_cc_09_hb_03_a_wrong_partition_key_or_none_is_refused(connector):
    assert problem_of(connector, {"unused": "x"}, {"offset": 0})
    assert problem_of(connector, None, {"offset": 0})


@KINDS
def test_sc_22_cc_10_hb_04_each_member_of_the_partition_is_needed(connector):
    place = PLACES[connector]
    assert problem_of(connector, place, {"offset": 0}) is None
    assert all(problem_of(connector, without(place, name), {"offset": 0}) for name in place)


@pytest.mark.parametrize("connector", [SOURCE, CHECKPOINT])
@pytest.mark.parametrize("partition", ["a string", 1.5, None, -1, 1 << 31, True])
def test_sc_23_cc_11_the_partition_is_a_whole_number(connector, partition):
    assert problem_of(connector, {**PLACES[connector], "partition": partition}, {"offset": 0})


@KINDS
def test_sc_24_cc_12_hb_05_each_of_several_partitions_is_judged_by_itself(connector):
    place = PLACES[connector]
    turned = dict(zip(place, reversed(list(place.values())), strict=True))
    several = [place, {**turned, **({"partition": 7} if "partition" in place else {})}]
    if connector == CHECKPOINT:
        several[1] |= {"group": "h", "topic": "A.u"}
    if connector == SOURCE:
        several[1] |= {"cluster": "C", "topic": "u"}
    assert [problem_of(connector, each, {"offset": 0}) for each in several] == [None, None]


@KINDS
def test_sc_25_cc_13_hb_06_an_offset_without_its_member_is_refused(connector):
    assert problem_of(connector, PLACES[connector], {"unused": 0})


@KINDS
@pytest.mark.parametrize("offset", ["nan", None, {}, 3.14, -420, "10", True])
def test_sc_26_cc_14_hb_07_an_offset_is_a_whole_number_from_zero_on(connector, offset):
    assert problem_of(connector, PLACES[connector], {"offset": offset})


def test_sc_26_cc_14_hb_07_only_the_source_connector_has_a_position():
    for offset in (0, 10, 1 << 31):
        assert problem_of(SOURCE, PLACES[SOURCE], {"offset": offset}) is None
        for connector in (CHECKPOINT, HEARTBEAT):
            refused = problem_of(connector, PLACES[connector], {"offset": offset})
            assert bool(refused) is (offset != 0)


@KINDS
def test_sc_27_cc_15_hb_08_what_we_write_ourselves_is_accepted(connector):
    _, place = json.loads(key_of(connector, PLACES[connector]))
    assert problem_of(connector, place, {"offset": 0}) is None


@KINDS
@pytest.mark.parametrize("place", [None, {}, {"unused": 1}, {"sourceClusterAlias": 7}])
def test_sc_28_cc_16_hb_09_a_reset_is_accepted_for_any_partition(connector, place):
    assert problem_of(connector, place, None) is None
    assert problem_of(connector, PLACES[connector], None) is None
