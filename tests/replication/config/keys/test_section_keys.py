"""Each setting is declared in one place: a field of a section, with its key in the file."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from support.settings.config_files import TWO, about, flow, found, loaded

from replication.config.file import values
from replication.config.keys import docs_table
from replication.config.keys.client_keys import CONSUMER_ONLY, KNOWN
from replication.config.keys.docs_table import renewed
from replication.config.keys.section_keys import SECTIONS, fields_of, known
from replication.settings.copy_settings import CopySettings
from replication.settings.flow_settings import Flow
from replication.settings.metrics_settings import MetricsSettings
from replication.settings.mm2_settings import Mm2
from replication.settings.setting_key import Derived, KeyLevel
from replication.settings.state_policies import Policies
from replication.settings.transform_settings import TopicTransform

ROOT = Path(__file__).parents[4]
PAGES = [(ROOT / "docs" / name).read_text() for name in ("configuration.md", "transforms.md")]
FIELDS = [(section, each) for section in SECTIONS for each in fields_of(section)]
KEYS = [(each, key) for _, each in FIELDS for key in each.keys]
# Fields that are whole sections, or say which clusters a flow connects.
STRUCTURE = {
    Flow: {"source", "target", "clients", "selection", "naming", "creation", "configs", "acls",
           "copying", "policies", "mm2", "groups"},
    Mm2: {"heartbeats", "syncs", "checkpoints"},
    TopicTransform: {"pattern", "folder", "smts"},  # Connect's have names that the file chooses
    MetricsSettings: {"otlp"},
}  # fmt: skip


def written(value: object, kind: str) -> str:
    """Return a default as a file would have it."""
    match value:
        case bool():
            return str(value).lower()
        case tuple() | dict():
            return ",".join(value)
    if kind in ("interval", "duration"):
        return f"{round(value.total_seconds() * 1000)}ms"
    return str(value)


@pytest.mark.parametrize(("field", "key"), KEYS, ids=[key.name for _, key in KEYS])
def test_a_key_has_a_description_and_its_kind_accepts_its_default(field, key):
    assert key.description
    if key.name.endswith("*") or field.default in (None, ()) or key.default or key.kind == "string":
        return
    assert values.parse(key.kind, key.name, written(field.default, key.kind), key.least) == (
        field.default
    )


@pytest.mark.parametrize("section", SECTIONS, ids=[each.__name__ for each in SECTIONS])
def test_a_field_has_keys_or_says_what_it_follows_from(section):
    with_keys = {each.name for each in fields_of(section)}
    hints = get_type_hints(section, include_extras=True)
    derived = {
        name for name, hint in hints.items()
        if any(isinstance(each, Derived) and each.source for each in get_args(hint))
    }  # fmt: skip
    fields = {name for name in hints if not name.startswith("model_")}
    assert with_keys | derived | STRUCTURE.get(section, set()) == fields
    assert not with_keys & derived


def test_a_key_belongs_to_one_field():
    assert {name: n for name, n in Counter(key.name for _, key in KEYS).items() if n > 1} == {}


@pytest.mark.parametrize("page", PAGES, ids=["configuration", "transforms"])
def test_a_page_holds_the_tables_that_the_sections_make(page):
    assert renewed(page) == page, "run make docs"


def test_the_pages_have_a_row_for_each_key():
    lines = [line for page in PAGES for line in page.splitlines()]
    rows = Counter(line.split("`")[1] for line in lines if line.startswith("| `"))
    prefixes = {KeyLevel.WORKER: "B.", KeyLevel.CONSUMER: "A.consumer."}
    names = [f"{prefixes.get(key.level, '')}{key.name}" for _, key in KEYS]
    assert {name: rows[name] for name in names if rows[name] != 1} == {}


def test_the_page_renews_a_table_and_nothing_else():
    page = "before\n<!-- settings: Flow.lag_sla -->\nold\n<!-- end -->\nafter\n"
    assert renewed(page) == (
        "before\n<!-- settings: Flow.lag_sla -->\n| key | default | meaning |\n|---|---|---|\n"
        "| `lag.sla.seconds` | `60` | maximum age of a record that is not copied; beyond it "
        "the lag check fails |\n"
        "<!-- end -->\nafter\n"
    )
    assert [each.read_text("utf-8") for each in docs_table.PAGES] == PAGES


def test_a_section_without_a_field_stands_for_what_the_page_names_nowhere_else():
    page = "".join(
        f"<!-- settings: {names} -->\n<!-- end -->\n"
        for names in ("Heartbeats.enabled Heartbeats.replication_factor", "Heartbeats")
    )
    rows = [line.split("`")[1] for line in renewed(page).splitlines() if line.startswith("| `")]
    assert rows == [
        "emit.heartbeats.enabled",
        "heartbeats.topic.replication.factor",
        "emit.heartbeats.interval.seconds",
    ]


@pytest.mark.parametrize(
    ("text", "every"), [("50ms", 100), ("-1", 0), ("100ms", 100), ("2s", 2000)]
)
def test_an_interval_below_the_least_counts_as_the_least(tmp_path, text, every):
    beats = flow(tmp_path, f"emit.heartbeats.interval.seconds = {text}\n").mm2.heartbeats
    assert beats.every == timedelta(milliseconds=every)
    assert beats.enabled == (every > 0)


@pytest.mark.parametrize("name", ["metrics.otlp.interval", "metrics.otlp.interval.ms"])
def test_a_span_of_time_may_be_written_without_its_unit_or_in_the_other_one(tmp_path, name):
    text = f"{TWO}{name} = 7000\nmetrics.otlp.endpoint = https://h:1\n"
    seconds = 7000 if name.endswith("interval") else 7
    assert loaded(tmp_path, text).config.metrics.otlp.interval == timedelta(seconds=seconds)


def test_the_consumers_settings_are_known_client_settings():
    assert known(KeyLevel.CONSUMER).keys() <= KNOWN & CONSUMER_ONLY


@pytest.mark.parametrize(
    "key",
    [
        key.name
        for section in (CopySettings, Policies)
        for each in fields_of(section)
        for key in each.keys
        if key.level is not KeyLevel.CONSUMER
    ],
)
def test_a_setting_of_the_copier_is_named_on_one_line_of_the_code(key):
    """All else follows from it: check, default, reading, the page, and what the units get."""
    # Other spellings; an example; what the files of a drill and of a backfill leave out or set.
    other = {"own_keys.py", "key_status.py", "setting_key.py", "drill_file.py", "backfill_file.py"}
    hits = [
        f"{path.name}:{number}"
        for package in ("replication", "spark_jobs")
        for path in (ROOT / package).rglob("*.py")
        if path.name not in other
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if f'"{key}"' in line
    ]
    assert len(hits) == 1, hits


def test_a_value_that_is_wrong_is_noted_once_and_the_default_counts(tmp_path):
    lines = "copy.buffer.bytes = 512\ntasks.max = 0\ncopy.epoch.seconds = 0\n"
    findings = found(tmp_path, TWO + lines)
    assert about(findings, "copy.buffer.bytes") == [
        "error: '512' is below the minimum of 1MiB → write 1MiB or more"
    ]
    assert about(findings, "tasks.max") == ["error: 0 is below the minimum of 1 → write 1 or more"]
    assert about(findings, "copy.epoch.seconds") == [
        "error: '0' is not longer than zero → write a number and a unit, such as 30s"
    ]


@pytest.mark.parametrize("factor", ["-1", "0"])
def test_connects_factor_for_the_brokers_default_is_none_of_our_topics(tmp_path, factor):
    lines = f"offset.storage.replication.factor = {factor}\noffsets.topic.replication.factor = 2\n"
    assert flow(tmp_path, lines).state_replication_factor == 2
