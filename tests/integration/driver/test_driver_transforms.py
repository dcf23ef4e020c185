"""Transforms between real clusters, by a real driver: what arrives, once and in order."""

from __future__ import annotations

import json
from contextlib import closing
from decimal import Decimal

import pytest
from support.flows.command import run_command
from support.flows.spark_driver import Application, wait_for
from support.network.schema_registry import LOGIN, Registry
from support.records import kafka_records

from replication.model import FlowState
from replication.state import Anchor, anchors_topic, dead_letters_topic

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

FILE = """
copy.epoch.seconds = 2
SOURCE->B.transform.SOURCE-sql/where = value:n::int % 3 = 0
SOURCE->B.transform.SOURCE-sql/value.format = json
SOURCE->B.transform.SOURCE-sql/on.error = dead-letter
SOURCE->B.transform.SOURCE-sql/batch.records = 500
SOURCE->B.transform.SOURCE-cast/select = cast(value::string::int * 10 as string) as key
SOURCE->B.transform.SOURCE-cast/key.format = string
SOURCE->B.transform.SOURCE-cast/on.error = dead-letter
SOURCE->B.transform.SOURCE-avro/where = value:amount::decimal(9,2) > 10
SOURCE->B.transform.SOURCE-avro/value.format = avro
SOURCE->B.transform.SOURCE-avro/on.error = dead-letter
SOURCE->B.transform.SOURCE-wrong/where = nothing = 1
"""
AMOUNT = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "amount", "type": AMOUNT}]}
LATER = {**ORDER, "fields": [{"name": "note", "type": "string"}, *ORDER["fields"]]}


@pytest.fixture(scope="module")
def registry():
    with closing(Registry(login=LOGIN).start()) as found:
        found.add(1, ORDER)
        found.add(2, LATER)
        yield found


@pytest.fixture(scope="module")
def running(source_cluster, target_cluster, tmp_path_factory, registry):
    home = tmp_path_factory.mktemp("transforms") / "app"
    of_registry = (
        f"schema.registry.url = {registry.url}\nschema.registry.basic.auth.user.info = {LOGIN}\n"
    )
    file = FILE + of_registry
    with closing(Application(source_cluster, target_cluster, home, file)) as application:
        here = application.source.bootstrap_servers
        for name in ("sql", "cast", "avro", "wrong"):
            kafka_records.create_topic(here, f"{application.alias}-{name}", 2)
        application.start()
        application.await_state(FlowState.DEGRADED)
        yield application


def transformed(running: Application, topic: str) -> int:
    """Return how far the topic is transformed: the sum of its positions."""
    anchors = running.state(anchors_topic(running.alias)).values()
    mine = (each for each in anchors if isinstance(each, Anchor) and each.topic == topic)
    return sum(each.source for each in mine)


def await_copy(running: Application, topic: str, count: int, limit_s: float = 180) -> None:
    """Wait until the copy of ``topic`` has so many records."""
    copy = kafka_records.Reader(running.both[1], f"{running.alias}.{topic}", "read_committed")
    wait_for(lambda: len(copy.read()) >= count, limit_s)


def numbered(count: int, first: int = 0) -> list[tuple]:
    return [
        (
            n % 2,
            b"k%d" % n,
            json.dumps({"n": n}).encode(),
            [("h", b"%d" % n)],
            1_700_000_000_000 + n,
        )
        for n in range(first, first + count)
    ]


def test_sql_keeps_the_records_it_asks_for_once_and_in_order(running):
    here, there = running.both
    topic, records = f"{running.alias}-sql", numbered(2000)
    kafka_records.produce(here, topic, records)
    kept = [
        each
        for each in kafka_records.consume_all(here, topic)
        if json.loads(each.value)["n"] % 3 == 0
    ]
    copy = f"{running.alias}.{topic}"
    await_copy(running, topic, len(kept))
    found = kafka_records.consume_all(there, copy, "read_committed")
    assert [each.content for each in found] == [each.content for each in kept]


def test_sql_that_fails_on_a_record_makes_it_a_dead_letter_and_goes_on(running):
    here, there = running.both
    topic, copy = f"{running.alias}-cast", f"{running.alias}.{running.alias}-cast"
    values = [b"1", b"2", b"x", b"4", b"y", b"6"]
    kafka_records.produce(here, topic, [(0, None, each) for each in values])
    await_copy(running, topic, 4)
    found = kafka_records.consume_all(there, copy, "read_committed")
    assert [(e.key, e.value) for e in found] == [
        (b"10", b"1"), (b"20", b"2"), (b"40", b"4"), (b"60", b"6")]  # fmt: skip
    letters = kafka_records.consume_all(there, dead_letters_topic(running.alias), "read_committed")
    mine = [e for e in letters if dict(e.headers)["isthmus.topic"] == topic.encode()]
    assert [(e.value, dict(e.headers)["isthmus.offset"]) for e in mine] == [
        (b"x", b"2"), (b"y", b"4")]  # fmt: skip
    assert b"CAST_INVALID_INPUT" in dict(mine[0].headers)["isthmus.reason"]


def test_sql_filters_avro_by_the_registry_and_what_it_cannot_decode_is_a_dead_letter(
    running, registry
):
    here, there = running.both
    topic, copy = f"{running.alias}-avro", f"{running.alias}.{running.alias}-avro"
    amounts = [Decimal(each) for each in ("10.01", "9.99", "11.50")]
    first, low, last = (registry.encoded(1, {"amount": each}) for each in amounts)
    later = registry.encoded(2, {"note": "ü", "amount": Decimal("12.00")})
    bad, unknown = b'{"amount": 99}', b"\0\0\0\0\x63" + first[5:]
    values = [first, low, bad, later, unknown, None, last]
    others = len(kafka_records.consume_all(there, copy))  # of other tests, in partition 1
    registry.fails_with = 503
    kafka_records.produce(here, topic, [(0, b"k", each) for each in values])
    wait_for(lambda: "HTTP 503" in running.status().reason)
    assert len(kafka_records.consume_all(there, copy)) == others
    registry.fails_with = 0
    await_copy(running, topic, others + 3)
    found = [e for e in kafka_records.consume_all(there, copy, "read_committed") if not e.partition]
    assert [each.value for each in found] == [first, later, last]  # the bytes of the source
    letters = kafka_records.consume_all(there, dead_letters_topic(running.alias), "read_committed")
    mine = [e for e in letters if dict(e.headers)["isthmus.topic"] == topic.encode()]
    assert [(e.value, dict(e.headers)["isthmus.offset"]) for e in mine] == [
        (bad, b"2"), (unknown, b"4")]  # fmt: skip
    assert b"the value is not Avro" in dict(mine[0].headers)["isthmus.reason"]
    assert b"the schema registry has no schema 99" in dict(mine[1].headers)["isthmus.reason"]


def test_a_killed_driver_goes_on_where_the_target_says(running):
    here, there = running.both
    topic, before = f"{running.alias}-sql", running.drivers[-1]
    kafka_records.produce(here, topic, numbered(1500, 10_000))
    wait_for(lambda: transformed(running, topic) > 1100)
    before.kill()
    before.wait()
    kafka_records.produce(here, topic, numbered(900, 20_000))
    running.start()
    kept = [each for each in kafka_records.consume_all(here, topic)
            if json.loads(each.value)["n"] % 3 == 0]  # fmt: skip
    copy = f"{running.alias}.{topic}"
    await_copy(running, topic, len(kept))
    found = kafka_records.consume_all(there, copy, "read_committed")
    assert [each.content for each in found] == [each.content for each in kept]


def test_a_switchover_waits_for_what_is_transformed_and_opens_the_target(running, registry):
    """A record whose schema is not known yet holds it up; the flow goes on where it was."""
    here, there = running.both
    topic, avro = f"{running.alias}-sql", f"{running.alias}-avro"

    def switchover(*words: str):
        return run_command("switchover", running.config, "--flow", running.flow, *words)

    registry.fails_with = 503
    before = len(kafka_records.consume_all(there, f"{running.alias}.{avro}", "read_committed"))
    registry.add(7, ORDER)
    schema = registry.encoded(7, {"amount": Decimal("77.00")})
    kafka_records.produce(here, avro, [(1, b"k", schema)])
    refused = switchover("--yes", "--timeout", "3", "--quiet", "1")
    assert refused.code == 1
    assert f"not copied in 3 s: {avro}-1" in refused.lines[-1]
    registry.fails_with = 0
    kafka_records.produce(here, topic, numbered(3000, 70_000))
    ended = switchover("--yes", "--timeout", "180", "--quiet", "1", "-o", "json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)["operation"]["writable"] == "B"
    await_copy(running, avro, before + 1, 0)
    kept = [each for each in kafka_records.consume_all(here, topic)
            if json.loads(each.value)["n"] % 3 == 0]  # fmt: skip
    copied = kafka_records.consume_all(there, f"{running.alias}.{topic}", "read_committed")
    assert [each.content for each in copied] == [each.content for each in kept]
    assert switchover("--undo").code == 0
    kafka_records.produce(here, topic, [(0, b"k", b'{"n": 90000}')])
    await_copy(running, topic, len(kept) + 1)


def verified(running: Application, topics: str, tmp_path) -> tuple[int, dict]:
    file = tmp_path / "verified.properties"
    file.write_text(f"{running.config.read_text()}reports.directory = {tmp_path}\n")
    done = run_command("verify", file, "-o", "json", "--topics", topics)
    assert done.out, done.err
    return done.code, json.loads(done.out)[0]


def test_what_sql_made_is_verified_with_what_it_makes_of_the_source_now(running, tmp_path):
    """With what other tests left: dead letters, and results from before and after a kill."""
    topics = f"{running.alias}-(sql|cast)"
    here, there = running.both
    name, cast = f"{running.alias}-sql", f"{running.alias}-cast"
    kafka_records.produce(here, name, numbered(400, 50_000))
    end = len(kafka_records.consume_all(here, name))
    wait_for(lambda: transformed(running, name) == end)
    code, reported = verified(running, topics, tmp_path)
    assert (code, reported["result"], reported["differences"]) == (0, "equal", 0), reported
    copies = [f"{running.alias}.{each}" for each in (name, cast)]
    written = [len(kafka_records.consume_all(there, each, "read_committed")) for each in copies]
    assert reported["records"] == sum(written) > 0
    letters = kafka_records.consume_all(there, dead_letters_topic(running.alias), "read_committed")
    mine = [e for e in letters if dict(e.headers)["isthmus.topic"].decode() in (name, cast)]
    no_counterpart = [count for each in reported["partitions"] for count in each["apart"].values()]
    assert sum(no_counterpart) == len(mine)


def test_sql_that_is_wrong_says_so_at_its_line_and_writes_nothing(running):
    def of_the_sql() -> str:  # another transform may have a reason of its own for a moment
        return next((e for e in (running.status().reason,) if "UNRESOLVED_COLUMN" in e), "")

    reason = wait_for(of_the_sql)
    assert f"{running.config}:" in reason
    assert "transform." in reason
    topic = f"{running.alias}-wrong"
    assert kafka_records.consume_all(running.both[1], f"{running.alias}.{topic}") == []
