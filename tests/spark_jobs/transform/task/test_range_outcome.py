"""What becomes of a range: where records go, what is a dead letter, where the next range begins."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pyarrow as pa

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.records.codec import headers_of, key_and_value, plain_record
from replication.settings.transform_settings import DEAD_LETTER, SettingText, TopicTransform
from replication.state import Anchor
from replication.transforms.transformed_record import PoisonRecord, SourceRecord
from spark_jobs.transform.task.batch_work import property_of, work_in
from spark_jobs.transform.task.range_outcome import Placed, RangeOutcome, problem_of
from spark_jobs.transform.task.work import (
    RangeReport,
    RangeWork,
    SlotReport,
    SlotWork,
    TaskClusters,
)

WHERE = SettingText("true", "isthmus.properties:7: A->B.transform.orders/where")
ANCHOR = Anchor("A->B", "orders", 3, "A.orders", 10, 4, records=2, bytes=9, since=(0, 0))


def outcome(**settings) -> RangeOutcome:
    transform = replace(TopicTransform("orders", where=WHERE), **settings)
    work = RangeWork(ANCHOR, 20, "", TopicPartition("A.orders", 3))
    clusters = TaskClusters("A->B", "A", {"password": "hush"}, {})
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    slot = SlotWork(clusters, transform, me, (work,), {"A.orders": 4, "eu": 2}, {})
    return RangeOutcome(slot, work)


def add(found: RangeOutcome) -> None:
    rest = plain_record(5, b"k", b"v", [("h", b"1")]).rest
    rests, where = pa.array([rest], pa.binary()), TopicPartition("A.orders", 3)
    found.extend(Placed(where, np.array([5]), rests, np.array([10])))


def poison(offset: int) -> PoisonRecord:
    return PoisonRecord(SourceRecord(offset, 5, b"k", b"bad", (("h", None),)), "it is\n bad")


def test_what_the_target_cannot_take_is_named():
    counts = {"eu": 2}
    assert problem_of("eu", 1, counts) == ""
    assert "us is not on the target" in problem_of("us", -1, counts)
    assert problem_of("eu", 2, counts) == "eu has no partition 2"


def test_a_poison_record_ends_the_range_before_it_and_the_reason_names_line_and_offset():
    found = outcome()
    add(found)
    found.poison(poison(14))
    found.poison(poison(15))
    anchor = found.anchor(77, 100)
    assert (anchor.source, anchor.target, anchor.records, anchor.bytes) == (14, 77, 3, 109)
    assert (anchor.state, anchor.lost, anchor.clean) == ("TRANSFORM_FAILED", 0, False)
    assert anchor.reason == f"{WHERE.where}: orders-3 offset 14: it is bad"
    assert anchor.appenders == (("isthmus.A->B.transform.0.0", 7),)
    assert anchor.transform == "A->B.transform.orders/where"
    assert found.dead_letters() == []


def test_dead_letters_keep_the_record_and_are_counted_as_losses():
    found = outcome(on_error=DEAD_LETTER, dead_letters_max=2)
    for offset in (11, 12, 13):
        found.poison(poison(offset))
    anchor = found.anchor(None, 0)
    assert (anchor.source, anchor.target, anchor.lost) == (13, 4, 2)
    assert "its 2 dead letters are all that dead.letters.max allows" in anchor.reason
    first = found.dead_letters()[0]
    assert (key_and_value(first), first.timestamp) == ((b"k", b"bad"), 5)
    headers = dict(headers_of(first))
    assert (headers["isthmus.partition"], headers["isthmus.offset"], headers["h"]) == (
        b"3",
        b"11",
        None,
    )
    assert [(e.first, e.next) for e in found.losses()] == [(11, 12), (12, 13)]


def test_a_report_survives_its_way_to_the_driver():
    report = SlotReport(
        (RangeReport(replace(ANCHOR, appenders=(("x", 1),), transform="w"), 5, 3, 1),),
        {TopicPartition("eu", 1): 9},
        outside=(0,),
        cpu_s=1.5,
    )
    assert SlotReport.of(report.text()) == report


def test_no_password_is_shown():
    assert "hush" not in repr(outcome().slot)


def test_the_work_of_a_batch_reaches_its_tasks_without_passwords():
    slot = outcome().slot
    text = property_of([slot, replace(slot, sequences={TopicPartition("eu", 1): 4})])
    assert b"hush" not in base64.b64decode(text)
    assert work_in(text, slot.clusters, 0) == slot
    assert work_in(text, slot.clusters, 1).sequences == {TopicPartition("eu", 1): 4}
