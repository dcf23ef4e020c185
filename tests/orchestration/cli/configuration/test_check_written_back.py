"""Each setting that ``isthmus check`` shows can be written into a file as it is shown."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from orchestration.cli.configuration.check import grouped
from replication.config.file.findings import errors
from replication.config.file.properties import as_written
from replication.config.keys.connection_keys import MASK, is_secret
from replication.config.keys.section_keys import known
from replication.config.load import Loaded, examine
from replication.settings.setting_key import KeyLevel

if TYPE_CHECKING:
    from replication.settings.flow_settings import Flow

HEAD = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
B->A.enabled = true
"""
NEEDED = ("metrics.password",)  # by a user; here it is the mask
PATTERNS = ("orders", r"orders\d+", "a|b", r"a\.b.*", "x{1,3}", "[a-c]+", "größe")
VALUES = {
    "boolean": st.sampled_from(["true", "FALSE"]),
    "int": st.integers(0, 9).map(str),
    "port": st.integers(0, 65535).map(str),
    "bytes": st.sampled_from(["64MiB", "67108864", "3 mb", "1GiB", "0"]),
    "duration": st.sampled_from(["1", "90", "250ms", "2m", "1h"]),
    "interval": st.sampled_from(["0", "-1", "90", "250ms", "2m"]),
    "list": st.sampled_from(["", "min.insync.replicas", "a, b,c"]),
    "patterns": st.lists(st.sampled_from(PATTERNS), max_size=3).map(" , ".join),
    "pattern": st.sampled_from(PATTERNS),
    "start": st.sampled_from(["earliest", "latest", "2026-05-01T08:00:00Z", "1700000000000"]),
    "start-offsets": st.sampled_from(["", "orders:0:1200", "orders:0:1, orders:1:2"]),
    "topic-limits": st.sampled_from(["", "orders", "orders:5, stock, a.b-c:2m"]),
    "owners": st.sampled_from(["", "team:data", "ada@example.org, team:a-b"]),
    "string": st.sampled_from(["", "-", "x", "two words", "a: b = c", "C:\\temp", "größe"]),
}
KEYS = {
    key.name: key
    for level in (KeyLevel.FLOW, KeyLevel.FILE, KeyLevel.CONNECTOR, KeyLevel.CREATION)
    for key in known(level).values()
    if not key.name.endswith(("*", "webhook.url", "alert.urls"))
    and key.kind.partition(" ")[0] in {*VALUES, "choice"}
}
OTHERS = {  # whose names say for which client, topic or rule they are
    "A.consumer.isolation.level": ("read_committed", "read_uncommitted"),
    "B.producer.linger.ms": ("5",),
    "A->B.producer.override.request.timeout.ms": ("20000",),
    "B.admin.request.timeout.ms": ("20000",),
    "security.protocol": ("PLAINTEXT", "SSL"),
    "replication.policy.class": ("DefaultReplicationPolicy", "IdentityReplicationPolicy"),
    "topics.regex": PATTERNS,
    "offsets.topic.replication.factor": ("1", "-1"),
    "B.offset.storage.replication.factor": ("2",),
    "topic.config.orders/retention.ms": ("1000",),
    "spark.conf.spark.executor.memory": ("1g",),
}


@st.composite
def files(draw: st.DrawFn) -> str:
    """Draw a file: any keys of any level, at the top level or for one flow."""
    lines = []
    for name in draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=8, unique=True)):
        key = KEYS[name]
        kind, _, choices = key.kind.partition(" ")
        value = draw(st.sampled_from(choices.split("|")) if kind == "choice" else VALUES[kind])
        prefix = draw(st.sampled_from(["", "", "A->B."])) if key.level is not KeyLevel.FILE else ""
        lines.append(f"{prefix}{name} = {as_written(value)}\n")
    others = draw(st.lists(st.sampled_from(sorted(OTHERS)), max_size=3, unique=True))
    lines += [f"{name} = {as_written(draw(st.sampled_from(OTHERS[name])))}\n" for name in others]
    return HEAD + "".join(lines)


def checked(text: str) -> tuple[Loaded | None, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mm2.properties")
        file.write_text(text)
        loaded, findings = examine(file)
    return (None if errors(findings) else loaded), [str(each) for each in findings]


def shown(loaded: Loaded) -> dict[str, list[tuple[str, str]]]:
    """Return the settings of the file, and those of each flow, without their origins."""
    return {
        flow: sorted((each.name, each.value) for each in settings if each.value != MASK)
        for flow, settings in loaded.origins.items()
    }


def written_back(loaded: Loaded) -> str:
    """Return a file with each line of check's tables, as they show it."""
    lines = []
    for title, found in grouped(loaded):
        flow = title.removeprefix("Settings of ")
        prefix = "" if flow == "all flows" else f"{flow}."
        lines += [
            f"{prefix}{each.name} = {as_written(each.value)}\n"
            for each in found
            if each.name in NEEDED
            or (each.value != MASK and not (each.value and is_secret(each.name)))
        ]
    return HEAD + "".join(lines)


@settings(suppress_health_check=[HealthCheck.filter_too_much], max_examples=60, deadline=None)
@example(HEAD + "metrics.user = x\nmetrics.password = y\n")
@example(HEAD + "schema.registry.url =\nschema.registry.basic.auth.user.info = x\n")
@given(files())
def test_what_check_shows_gives_the_same_check_as_a_file(text):
    loaded, _ = checked(text)
    assume(loaded is not None)
    again, findings = checked(written_back(loaded))
    assert again is not None, findings
    assert shown(again) == shown(loaded)
    for one, other in zip(loaded.config.flows, again.config.flows, strict=True):
        assert without_secrets(other) == without_secrets(one)


def without_secrets(flow: Flow) -> dict[str, object]:
    """Return the fields of a flow, but for what no output shows."""
    found = flow.model_dump(exclude={"clients"})
    registry = found["registry"].items()
    found["registry"] = {name: each for name, each in registry if not is_secret(name)}
    return found
