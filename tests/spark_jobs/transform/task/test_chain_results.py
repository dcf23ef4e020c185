"""A chain of single message transforms over columns: the same as one record after the other."""

from __future__ import annotations

import random

import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.records.codec import headers_of, key_and_value
from replication.settings.transform_settings import (
    DEAD_LETTER,
    JSON,
    STOP,
    PredicateSpec,
    SettingText,
    SmtSpec,
    TopicTransform,
)
from replication.state import Anchor
from replication.transforms.smt.chain import Chain
from replication.transforms.transformed_record import PoisonRecord
from spark_jobs.transform.task.chain_results import take_by_chain
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

ANCHOR = Anchor("A->B", "orders", 1, "A.orders", 0, None)
COUNTS = {"A.orders": 4, "eu": 2, "orders-2023": 3}
HAS_TRACE = "HasHeaderKey", {"name": "trace"}
TOMBSTONE = "RecordIsTombstone", {}
HERE = "TopicNameMatches", {"pattern": "A\\..*"}


def written(text):
    return SettingText(text, "f:1: k")


def smt(kind, settings=None, predicate=None, *, negate=False):
    test = None
    if predicate is not None:
        name, of_test = predicate
        test = PredicateSpec("p", written(name), {k: written(v) for k, v in of_test.items()})
    listed = {name: written(each) for name, each in (settings or {}).items()}
    return SmtSpec(kind, written(kind), listed, test, negate)


INSERT = smt("InsertHeader", {"header": "n", "value.literal": "1"}, HAS_TRACE)
MASK = smt("MaskField$Value", {"fields": "id"})
CHAINS = {
    "filter by header": [smt("Filter", {}, HAS_TRACE)],
    "filter all but tombstones": [smt("Filter", {}, TOMBSTONE, negate=True)],
    "filter all": [smt("Filter", {}, HERE)],
    "route": [smt("RegexRouter", {"regex": "A\\.(.*)", "replacement": "eu"}, HAS_TRACE)],
    "route to nowhere": [smt("RegexRouter", {"regex": ".*", "replacement": "us"}, TOMBSTONE)],
    "route by time": [
        smt("TimestampRouter", {"topic.format": "orders-${timestamp}", "timestamp.format": "yyyy"})
    ],
    "headers": [INSERT, smt("DropHeaders", {"headers": "trace"}), smt("Filter", {}, TOMBSTONE)],
    "mask": [MASK],
    "mask some": [smt("MaskField$Value", {"fields": "id"}, HAS_TRACE), INSERT],
    "key": [smt("ValueToKey", {"fields": "id"}, TOMBSTONE, negate=True)],
    "all": [
        smt("Filter", {}, HAS_TRACE),
        smt("ReplaceField$Key", {"exclude": "x"}),
        smt("ValueToKey", {"fields": "id,x"}),
        INSERT,
    ],
}


def some_records(seed, count=60):
    chance = random.Random(seed)
    headers = [(), (("trace", b"1"), ("n", None)), (("n", b"\xff"), ("n", b"2")), (("trace", b""),)]
    keys = [None, b'{"x": 1, "y": "z"}', b"no json"]
    values = [None, b'{"id": 7, "x": "y"}', b'{"x": 1.5}', b"no json"]
    return [
        (
            chance.choice((-1, 1_700_000_000_000, 1_690_000_000_000 + number, 1_600_000_000_000)),
            chance.choices(keys, (5, 5, 1))[0],
            chance.choices(values, (5, 5, 5, 1))[0],
            chance.choice(headers),
        )
        for number in range(count)
    ]


def outcome(chain, on_error):
    transform = TopicTransform(
        "orders", smts=tuple(CHAINS[chain]), on_error=on_error, key_format=JSON, value_format=JSON
    )
    work = RangeWork(ANCHOR, 99, "", TopicPartition("A.orders", 1))
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    slot = SlotWork(TaskClusters("A->B", "A", {}, {}), transform, me, (work,), COUNTS, {})
    return RangeOutcome(slot, work), Chain(transform)


def one_by_one(chain, records, on_error):
    """Return what is to be written by topic, and the offsets and reasons of poison records."""
    found, poisons = {}, []
    for each in records:
        made = chain.apply("A.orders", each)
        if made is None:
            continue
        if not isinstance(made, PoisonRecord) and made.topic in COUNTS:
            content = (made.timestamp, made.key, made.value, list(made.headers))
            where = made.topic, 1 % COUNTS[made.topic]
            found.setdefault(where, []).append(content)
            continue
        why = (
            made.reason
            if isinstance(made, PoisonRecord)
            else f"its topic {made.topic} is not on the "
        )
        poisons.append((each.offset, why))
        if on_error == STOP:
            break
    return found, poisons


@pytest.mark.parametrize("on_error", [STOP, DEAD_LETTER])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_over_columns_is_the_chain_over_each_record(chain, on_error):
    for seed in range(4):
        found, applied = outcome(chain, on_error)
        records = records_of(some_records(seed), 10)
        take_by_chain(applied, found, records)
        expected, poisons = one_by_one(applied, records.singles(), on_error)
        assert {
            tuple(where): [
                (e.timestamp, *key_and_value(e), headers_of(e)) for e in listed.records()
            ]
            for where, listed in found.records.items()
        } == expected
        assert [each.record.offset for each in found.found_poisons] == [at for at, _ in poisons]
        for each, (_, why) in zip(found.found_poisons, poisons, strict=True):
            assert each.reason.startswith(why)


@pytest.mark.parametrize(
    ("chain", "applied"),
    [("filter by header", 4), ("filter all", 1), ("filter all but tombstones", 2), ("mask", 60)],
)
def test_a_chain_is_applied_once_to_what_is_the_same_to_it(chain, applied):
    found, known = outcome(chain, DEAD_LETTER)
    seen = []

    class Counted:
        reads, writes = known.reads, known.writes

        def apply(self, topic, record):
            seen.append(record)
            return known.apply(topic, record)

    take_by_chain(Counted(), found, records_of(some_records(1)))
    assert len(seen) == applied
    if chain == "filter by header":
        assert {(each.key, each.value) for each in seen} == {(None, None)}
