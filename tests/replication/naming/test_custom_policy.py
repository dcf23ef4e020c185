"""Custom naming policies: how they are loaded and called, and how their errors are reported."""

import sys
from pathlib import Path

import pytest

from replication.errors import ConfigError
from replication.model import Origin
from replication.naming.checked_policy import CheckedPolicy, probe
from replication.naming.custom_policy import NamingPolicy, load_policy
from replication.naming.policy import hops, is_heartbeat, original_topic, would_cycle


class Suffix(NamingPolicy):
    """``orders@us`` would be illegal, so: ``orders--us``."""

    def configure(self, settings):
        self.mark = settings.get("mark", "--")

    def format_remote_topic(self, source_cluster, topic):
        return f"{topic}{self.mark}{source_cluster}"

    def topic_source(self, topic):
        return topic.rpartition(self.mark)[2] if self.mark in topic else None

    def upstream_topic(self, topic):
        return topic.rpartition(self.mark)[0] if self.mark in topic else None


def checked(policy: NamingPolicy | None = None, **settings: str) -> CheckedPolicy:
    own = policy or Suffix()
    own.configure(settings)
    return CheckedPolicy(own, "python:mine:Suffix")


def test_a_policy_answers_as_mirrormaker_2_asks():
    policy = checked()
    assert policy.remote_topic("us", "orders") == "orders--us"
    assert list(hops(policy, "orders--us--eu")) == [
        Origin("eu", "orders--us"),
        Origin("us", "orders"),
    ]
    assert original_topic(policy, "orders--us--eu") == "orders"
    assert would_cycle(policy, "orders--us--eu", "us")
    assert is_heartbeat(policy, "heartbeats--us")
    assert policy.checkpoints_topic("us") == "us.checkpoints.internal"
    assert policy.offset_syncs_topic("us") == "mm2-offset-syncs.us.internal"
    assert policy.is_checkpoints_topic("us.checkpoints.internal")
    probe(policy, "us", "eu")


class Keeping(Suffix):
    def format_remote_topic(self, source_cluster, topic):
        return topic

    def topic_source(self, topic):
        return "us"

    def upstream_topic(self, topic):
        return topic


def test_a_policy_that_keeps_names_knows_no_hops_as_mirrormaker_2s_does():
    policy = checked(Keeping())
    assert list(hops(policy, "orders")) == []
    probe(policy, "us", "eu")


def test_a_policy_may_leave_topics_out():
    class Careful(Suffix):
        def is_internal_topic(self, topic):
            return topic.startswith("_")

    policy = checked(Careful())
    assert policy.internal_reason("_schemas") == "internal, says python:mine:Suffix"
    assert policy.internal_reason("orders") is None
    assert policy.internal_reason("__consumer_offsets") == "a broker's own topic"


NAMES = iter("ab")


def failing(**methods):
    return type("Failing", (Suffix,), methods)()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        pytest.param(
            failing(format_remote_topic=lambda *_: None),
            "returned None instead of a topic name",
            id="no name",
        ),
        pytest.param(
            failing(format_remote_topic=lambda *_: 1 / 0),
            r"\('us', 'orders'\) raised ZeroDivisionError: division by zero",
            id="an error",
        ),
        pytest.param(
            failing(format_remote_topic=lambda *_: next(NAMES)),
            r"\('us', 'orders'\) returned two different names",
            id="another name each time",
        ),
        pytest.param(
            failing(topic_source=lambda *_: 5),
            "returned 5 instead of a topic name or None",
            id="a number for a cluster",
        ),
        pytest.param(
            failing(topic_source=lambda *_: "mars"),
            "'orders--us' is its name for 'orders' of 'us', but topic_source and upstream_topic "
            "map it to 'orders' of 'mars'",
            id="it does not know its own names",
        ),
        pytest.param(
            failing(is_internal_topic=lambda *_: None),
            "returned None instead of True or False",
            id="no truth",
        ),
        pytest.param(
            failing(checkpoints_topic=lambda *_: ""),
            "returned '' instead of a topic name",
            id="an empty name",
        ),
    ],
)
def test_a_policy_that_misbehaves_is_named_with_the_call(policy, message):
    with pytest.raises(ConfigError, match=message) as caught:
        probe(checked(policy), "us", "eu")
    assert str(caught.value).startswith("the naming policy python:mine:Suffix: ")


GOOD = """
from replication.naming import NamingPolicy

class Mine(NamingPolicy):
    def configure(self, settings):
        self.end = settings["end"]
    def format_remote_topic(self, source_cluster, topic):
        return topic + self.end
    def topic_source(self, topic):
        return None
    def upstream_topic(self, topic):
        return None

class Half(NamingPolicy):
    def format_remote_topic(self, source_cluster, topic):
        return topic

class Other:
    pass
"""


@pytest.fixture
def folder(tmp_path):
    name = f"names_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(GOOD)
    yield name, str(tmp_path)
    sys.modules.pop(name, None)


def test_a_class_beside_the_configuration_file_is_found(folder):
    name, path = folder
    policy = load_policy(f"python:{name}:Mine", path, {"end": "-x"})
    assert policy.format_remote_topic("us", "orders") == "orders-x"
    assert path not in sys.path


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("python:{}:Half", "does not implement topic_source, upstream_topic"),
        ("python:{}:Other", "does not extend replication.naming.NamingPolicy"),
        ("python:{}:Absent", "AttributeError: module .* has no attribute 'Absent'"),
        ("python:{}:Mine", "cannot be instantiated: KeyError: 'end'"),
        ("python:no.such.module:Mine", "ModuleNotFoundError: No module named 'no'"),
        ("python:unregistered", "no installed package registers 'unregistered' as an entry point"),
        ("python:", "no installed package registers '' as an entry point"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_the_reason(folder, written, message):
    name, path = folder
    with pytest.raises(ConfigError, match=message):
        load_policy(written.format(name), path, {})


def test_a_class_that_an_installed_package_registers_is_found_by_its_name(folder, monkeypatch):
    module, path = folder
    info = Path(path) / "names-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: names\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[isthmus.policies]\nmine = {module}:Mine\n")
    monkeypatch.syspath_prepend(path)
    policy = load_policy("python:mine", "/nowhere", {"end": "-y"})
    assert policy.format_remote_topic("us", "orders") == "orders-y"
