"""Applies Connect's own transforms, from Kafka's jars, to records: for comparison with ours."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, kafka_jars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.transforms.transformed_record import SourceRecord

PACKAGE = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True)
class Case:
    """One transform, with or without a predicate, and the records that it is applied to."""

    type: str
    settings: Mapping[str, str]
    records: Sequence[SourceRecord]
    json: bool = False
    predicate: str = ""
    predicate_settings: Mapping[str, str] = field(default_factory=dict)
    negate: bool = False
    topic: str = "A.orders"


def connect_results(cases: Sequence[Case]) -> list[list[dict[str, Any]]]:
    """Return what Connect makes of each record of each case, as ``ConnectTransforms.java`` says."""
    jars = kafka_jars(DEFAULT_VERSION, ("connect-mirror", "connect-runtime"))
    source = Path(__file__).parents[2] / "java" / "ConnectTransforms.java"
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    done = subprocess.run(
        [str(java()), *quick, "-cp", f"{jars}/*", str(source)],
        input=json.dumps([_case(each) for each in cases]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _case(case: Case) -> dict[str, Any]:
    predicate = f"{PACKAGE}predicates.{case.predicate}" if case.predicate else None
    return {
        "type": PACKAGE + case.type,
        "settings": dict(case.settings),
        "json": case.json,
        "predicate": predicate,
        "predicate_settings": dict(case.predicate_settings),
        "negate": case.negate,
        "records": [_record(case.topic, each) for each in case.records],
    }


def _record(topic: str, record: SourceRecord) -> dict[str, Any]:
    return {
        "topic": topic,
        "timestamp": record.timestamp,
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[name, text(value)] for name, value in record.headers],
    }


def text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
