"""Each key that the sections declare sets its field: none is declared and forgotten when read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel
from support.settings.config_files import TWO, loaded

from replication.config.file import values
from replication.config.keys.section_keys import SECTIONS, fields_of
from replication.settings.naming_settings import MappedName, RenameRule
from replication.settings.setting_key import KeyLevel
from replication.settings.transform_settings import SettingText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from replication.settings.setting_key import Key

CASES = [(section, each, key) for section in SECTIONS for each in fields_of(section)
         for key in each.keys]  # fmt: skip
PREFIXES = {
    KeyLevel.FLOW: "A->B.",
    KeyLevel.CONNECTOR: "A->B.",
    KeyLevel.CREATION: "A->B.",
    KeyLevel.WORKER: "B.",
    KeyLevel.CONSUMER: "A.consumer.",
    KeyLevel.FILE: "",
    KeyLevel.TRANSFORM: "A->B.transform.orders/",
}
# A valid value of each kind that is no field's default; a choice is another one than the default.
VALUES = {
    "string": "seven",
    "code": "seven",
    "list": "seven, eight",
    "patterns": "seven.*, eight",
    "pattern": "seven.*",
    "int": "7",
    "port": "7007",
    "interval": "77",
    "duration": "77",
    "bytes": "777MiB",
    "start": "latest",
    "start-offsets": "orders:0:7",
    "topic-limits": "orders:7",
    "owners": "team:seven",
    "cron": "7 7 * * *",
    "urls": "slack://seven",
}
# Keys whose value has a form of its own, or is read to something else: name -> text, field.
REGISTRY = {"url": "https://seven:1"}
OWN: dict[str, tuple[str, Any]] = {
    "replication.policy.class": ("IdentityReplicationPolicy", "identity"),
    "replication.policy.config.*": ("seven", "seven"),
    "replication.policy.internal.topic.separator.enabled": ("true", "-"),
    "topics.rename.regex": ("(.+)-x", RenameRule(pattern="(.+)-x", replacement="a-$1")),
    "topics.rename.replacement": ("b-$1", RenameRule(pattern="(.+)", replacement="b-$1")),
    "topics.map.file": ("seven.map", (MappedName(None, "orders", "seven", 1),)),
    "topic.config.*": ("77", (("orders", "retention.ms", "77"),)),
    "spark.conf.*": ("seven", {"spark.x": "seven"}),
    "transform.*": ("true", "true"),
    "transforms": ("seven", "seven"),
    "schema.registry.url": ("https://seven:1", REGISTRY),
    "reports.directory": ("/seven", "/seven"),
    "metrics.otlp.endpoint": ("https://seven:1", "https://seven:1"),
    "metrics.otlp.headers": ("seven=eight", "seven=eight"),
}
NAMES = {  # of keys that end in *
    "replication.policy.config.*": "replication.policy.config.seven",
    "topic.config.*": "topic.config.orders/retention.ms",
    "spark.conf.*": "spark.conf.spark.x",
    "transform.*": "transform.orders/where",
}
POLICY = """
from replication.naming import NamingPolicy

class Same(NamingPolicy):
    def configure(self, settings):
        pass
    def format_remote_topic(self, source_cluster, topic):
        return topic
    def topic_source(self, topic):
        return None
    def upstream_topic(self, topic):
        return None
"""
CLASS = "A->B.replication.policy.class = python:policy_of_settings_read:Same"
ENDPOINT = "metrics.otlp.endpoint = https://h:1"
CERTIFICATE = "metrics.ssl.certificate.location = c"
BESIDE = {  # what else the file needs then
    "replication.policy.config.*": CLASS,
    "replication.policy.internal.topic.separator.enabled": "A->B.replication.policy.separator = -",
    "topics.rename.regex": "A->B.topics.rename.replacement = a-$1",
    "transforms": "A->B.transforms.seven.type = DropHeaders\nA->B.transforms.seven.headers = h",
    "tasks.min": "A->B.tasks.max = 7",
    "metrics.user": "metrics.password = p",
    "metrics.password": "metrics.user = u",
    "metrics.ssl.key.location": CERTIFICATE,
    "metrics.ssl.ca.location": CERTIFICATE,
    "metrics.otlp.headers": ENDPOINT,
    "metrics.otlp.ssl.ca.location": ENDPOINT,
    "route": "A->B.transform.orders/route.topics = t",
    "value.schema": "A->B.transform.orders/value.format = json",
}


def text_of(key: Key, default: object) -> str:
    """Return a valid value of a key that is not its field's default."""
    if key.name in OWN:
        return OWN[key.name][0]
    kind, _, choices = key.kind.partition(" ")
    if kind == "choice":
        return next(each for each in choices.split("|") if each != default)
    return str(default is not True).lower() if kind == "boolean" else VALUES[kind]


def lines_of(key: Key, text: str) -> str:
    """Return the lines that set a key, with what the file needs beside it."""
    lines = [f"{PREFIXES[key.level]}{NAMES.get(key.name, key.name)} = {text}"]
    lines += [BESIDE[key.name]] if key.name in BESIDE else []
    if key.name.startswith("schema.registry.") and not key.name.endswith(".url"):
        lines.append(f"A->B.schema.registry.url = {REGISTRY['url']}")
    if key.level is KeyLevel.TRANSFORM and key.name not in ("where", "select", "route", "function"):
        lines.append("A->B.transform.orders/where = true")
    return "\n".join([*lines, ""])


def read_to(key: Key, text: str) -> object:
    """Return what a field is to be, as ``plain`` shows it."""
    if key.name in OWN:
        return OWN[key.name][1]
    if key.name.startswith("schema.registry."):
        return REGISTRY | {key.name.removeprefix("schema.registry."): text}
    return values.parse(key.kind, key.name, text, key.least)


def plain(key: Key, value: Any, folder: Path) -> object:
    """Return the value of a field, of what has a place in the file only what was written."""
    if isinstance(value, SettingText):
        return value.text
    if key.name == "replication.policy.config.*":
        return value.settings["seven"]
    if key.name == "transform.*":
        return value[0].where.text
    if key.name == "transforms":
        return value[0].smts[0].name
    if key.name.startswith("schema.registry.") and isinstance(value, dict):
        return {name: text.removeprefix(f"{folder}/") for name, text in value.items()}
    return value.removeprefix(f"{folder}/") if isinstance(value, str) else value


def sections(value: Any) -> Iterator[Any]:
    """Yield all sections that a configuration consists of."""
    if type(value) in SECTIONS:
        yield value
    if isinstance(value, BaseModel):
        names = list(type(value).model_fields)
    elif dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value)]
    else:
        for each in value if isinstance(value, tuple) else ():
            yield from sections(each)
        return
    for name in names:
        yield from sections(getattr(value, name))


@pytest.mark.parametrize(("section", "field", "key"), CASES, ids=[key.name for *_, key in CASES])
def test_a_file_sets_the_field_that_a_key_belongs_to(tmp_path, monkeypatch, section, field, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy_of_settings_read.py").write_text(POLICY)
    (tmp_path / "seven.map").write_text("orders = seven\n")
    text = text_of(key, field.default)
    config = loaded(tmp_path, TWO + lines_of(key, text)).config
    (found,) = (each for each in sections(config) if type(each) is section)
    value = getattr(found, field.name)
    assert value != field.default
    assert plain(key, value, tmp_path) == read_to(key, text)
