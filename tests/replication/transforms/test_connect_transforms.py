"""Each single message transform beside Kafka's own class, on the same records, byte for byte."""

from __future__ import annotations

import json
import random

import pytest
from support.records.connect_transforms import Case, connect_results, text

from replication.settings.transform_settings import (
    BYTES,
    JSON,
    PredicateSpec,
    SettingText,
    SmtSpec,
    TopicTransform,
)
from replication.transforms.smt.chain import Chain
from replication.transforms.smt.connect_json import read_json, written
from replication.transforms.transformed_record import PoisonRecord, SourceRecord

pytestmark = pytest.mark.integration

MOMENTS = (0, 1, 951_782_400_123, 1_700_000_000_000, 4_102_444_799_999)
WORDS = ("id", "name", "amount", "customer", "Größe", "日本", "a.b", "x" * 40, "", "AaAa", "BBBB")


def plain_records() -> list[SourceRecord]:
    chance = random.Random(7)
    headers = [(), (("trace", b"1"), ("n", None)), (("n", b"\xff\x00"), ("n", b"2"), ("z", b""))]
    return [
        SourceRecord(
            number,
            MOMENTS[number % len(MOMENTS)],
            chance.choice((None, b"", b"key-%d" % number)),
            chance.choice((None, b"", b"text", chance.randbytes(50))),
            headers[number % 3],
        )
        for number in range(60)
    ]


def json_value(chance: random.Random, depth: int = 0) -> object:
    kinds = 9 if depth < 2 else 7
    match chance.randrange(kinds):
        case 0:
            return chance.choice((None, True, False))
        case 1:
            return chance.choice((0, -1, 7, 2**31, -(2**63), 2**63 - 1, 10**20))
        case 2:
            return chance.choice((0.0, -0.0, 1.5, 1e7, 123456.789, 1e-3, 1.25e-5, 3.0e300, 0.1))
        case 3 | 4 | 5 | 6:
            return chance.choice(("", "plain", 'quo"te\\', "tab\t\n\x01\x1f\x7f", "ü€😀", "a/b"))
        case 7:
            return [json_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {word: json_value(chance, depth + 1) for word in chance.sample(WORDS, 4)}


def json_records() -> list[SourceRecord]:
    chance = random.Random(11)
    found = []
    for number in range(150):
        count = chance.choice((0, 1, 3, 8, len(WORDS)))
        value = {word: json_value(chance) for word in chance.sample(WORDS, count)}
        more = {f"field-{n}": n for n in range(chance.choice((0, 0, 5, 30)))}
        spaced = chance.choice((None, 2))
        document = json.dumps({**value, **more}, indent=spaced, ensure_ascii=chance.random() < 0.5)
        key = json.dumps({"id": number, "Größe": "L", "amount": 1.5})
        found.append(SourceRecord(number, 1000 + number, key.encode(), document.encode(), ()))
    return [*found, SourceRecord(999, 5, None, None, ())]


HEADERS = (
    "abc", " padded ", "12", "-7", "007", "1.5", "1e3", "0.1", "true", "False", "3000000000",
    "1E40", "12abc", "-", "9223372036854775807",
)  # fmt: skip
DATE = "yyyy-MM-dd'T'HH'h'mm:ss.SSS"
ROUTES = [
    Case("RegexRouter", {"regex": r"A\.(.*)", "replacement": "$1-copy"}, plain_records()),
    Case("RegexRouter", {"regex": r"(\w)\.(or)(.*)", "replacement": "$2.$1$3"}, plain_records()),
    Case("RegexRouter", {"regex": "nothing", "replacement": "x"}, plain_records()),
    Case("TimestampRouter", {}, plain_records()),
    Case("TimestampRouter", {"topic.format": "${topic}.${timestamp}.x"}, plain_records()),
    Case("TimestampRouter", {"timestamp.format": DATE}, plain_records()),
    Case("TimestampRouter", {"timestamp.format": "yy/M/d D k"}, plain_records()),
    Case("DropHeaders", {"headers": "n, trace"}, plain_records()),
    Case("Filter", {}, plain_records()),
]
PREDICATES = [
    ("HasHeaderKey", {"name": "n"}),
    ("RecordIsTombstone", {}),
    ("TopicNameMatches", {"pattern": r"A\..*"}),
    ("TopicNameMatches", {"pattern": "orders"}),
]
REPLACED = [
    {"exclude": "amount,name"},
    {"include": "id,customer,Größe"},
    {"renames": "id:key,amount:name"},
    {"exclude": "id", "renames": "name:id"},
]
FIELDS = [
    *((f"ReplaceField${side}", each) for side in ("Key", "Value") for each in REPLACED),
    ("MaskField$Key", {"fields": "amount"}),
    ("MaskField$Value", {"fields": "amount"}),
    ("MaskField$Value", {"fields": "name,customer,id"}),
    ("MaskField$Value", {"fields": "name,customer", "replacement": "***"}),
    ("MaskField$Value", {"fields": "name,customer", "replacement": "12"}),
    ("MaskField$Value", {"fields": "name,customer", "replacement": "1.5"}),
    ("ValueToKey", {"fields": "id"}),
    ("ValueToKey", {"fields": "customer,name,missing"}),
    ("ValueToKey", {"fields": "AaAa,BBBB,a.b"}),
]


def cases() -> list[Case]:
    plain, documents = plain_records(), json_records()
    added = [{"header": "added", "value.literal": each} for each in HEADERS]
    return [
        *ROUTES,
        *(Case("InsertHeader", each, plain[:3]) for each in added),
        *(
            Case("Filter", {}, plain, predicate=name, predicate_settings=each, negate=negate)
            for name, each in PREDICATES
            for negate in (False, True)
        ),
        *(Case(name, each, documents, json=True) for name, each in FIELDS),
    ]


def ours(case: Case) -> list[dict]:
    def at_line(text: str) -> SettingText:
        return SettingText(text, "f:1")

    predicate = None
    if case.predicate:
        settings = {name: at_line(each) for name, each in case.predicate_settings.items()}
        predicate = PredicateSpec("p", at_line(case.predicate), settings)
    settings = {name: at_line(each) for name, each in case.settings.items()}
    spec = SmtSpec("x", at_line(case.type), settings, predicate, case.negate)
    kind = JSON if case.json else BYTES
    chain = Chain(TopicTransform(".*", smts=(spec,), key_format=kind, value_format=kind))
    return [shown(case, each, chain.apply(case.topic, each)) for each in case.records]


def shown(case: Case, record: SourceRecord, result: object) -> dict:
    if result is None:
        return {"dropped": True}
    if isinstance(result, PoisonRecord):
        return {"error": result.reason}
    key, value = result.key, result.value
    if case.json:  # JsonConverter writes also what the transform left alone
        key = canonical(key) if key == record.key else key
        value = canonical(value) if value == record.value else value
    return {
        "topic": result.topic,
        "timestamp": result.timestamp,
        "key": text(key),
        "value": text(value),
        "headers": [[name, text(each)] for name, each in result.headers],
    }


def canonical(document: bytes | None) -> bytes | None:
    return None if document is None else written(read_json(document))


@pytest.fixture(scope="module")
def theirs():
    return connect_results(cases())


@pytest.mark.parametrize("number", range(len(cases())))
def test_a_transform_does_what_kafkas_own_class_does(theirs, number):
    case = cases()[number]
    for record, our, their in zip(case.records, ours(case), theirs[number], strict=True):
        if "error" in their:
            assert "error" in our, (case, record, their)
        else:
            assert our == their, (case, record)
