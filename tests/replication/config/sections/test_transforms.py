"""The transforms that a file sets: what is read, and what is refused at its line."""

from __future__ import annotations

import pytest

from replication.config.load import load_config
from replication.errors import ConfigError
from replication.transforms.topic_transforms import TopicTransforms

TWO = """\
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
"""
DROP = """\
A->B.transforms = drop
A->B.transforms.drop.type = Filter
A->B.transforms.drop.predicate = tomb
A->B.transforms.drop.negate = true
A->B.predicates = tomb
A->B.predicates.tomb.type = RecordIsTombstone
"""

M = "A->B.transforms = m\nA->B.transforms.m.type = {}\n"
ROUTER = "A->B.transforms.m.regex = (a)\nA->B.transforms.m.replacement = $2\n"


def loaded(tmp_path, text):
    path = tmp_path / "isthmus.properties"
    path.write_text(TWO + text)
    return load_config(path).config.flows[0].transforms


def refused(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    return str(caught.value).replace(str(tmp_path), "")


def test_the_first_pattern_that_matches_counts_and_options_for_all_hold_for_it(tmp_path):
    found = loaded(
        tmp_path,
        "transform.on.error = dead-letter\n"
        "A->B.transform.web-.*/where = value # 'x, y' is not null\n"
        "A->B.transform.web-a/where = true\n" + DROP,
    )
    rules = TopicTransforms(found)
    web, rest = rules.of("web-a"), rules.of("orders")
    assert (web.where.text, web.on_error, web.smts) == (
        "value # 'x, y' is not null",
        "dead-letter",
        (),
    )
    assert web.where.where.endswith("isthmus.properties:6: A->B.transform.web-.*/where")
    assert (rest.smts[0].name, rest.smts[0].negate, rest.where) == ("drop", True, None)
    assert rest.smts[0].predicate.kind.text == "RecordIsTombstone"


def test_a_topic_without_a_transform_has_none(tmp_path):
    assert TopicTransforms(loaded(tmp_path, "A->B.transform.a/where = true\n")).of("b") is None


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("A->B.transform.a/whre = x\n", 5, "has no whre to set"),
        ("A->B.transform.a/on.error = stop\n", 5, "an option of a transform that does nothing"),
        ("A->B.transform.a/route = 'x'\n", 5, "has no list of the topics"),
        ("A->B.transform.a/where = x\nA->B.transform.a/function = m:f\n", 6, "cannot be combined"),
        ("A->B.transform.where = x\n" + DROP, 5, "cannot be combined"),
        (
            "A->B.transform.a/where = x\nA->B.transform.a/value.format = avro\n",
            6,
            "needs a schema registry → schema.registry.url = ",
        ),
        (
            "A->B.transform.a/function = m:f\nA->B.transform.a/key.format = avro\n",
            6,
            "is for Spark SQL",
        ),
        ("A->B.schema.registry.url = host:8081\n", 5, "does not begin with https:// or http://"),
        ("A->B.transform.a/where = x\nA->B.transform.a/value.schema = a INT\n", 6, "neither JSON"),
        ("A->B.transform.(a/where = x\n", 5, "(a"),
        ("A->B.transforms = m\n", 5, "names m, which has no transforms.m.type"),
        (
            M.format("org.apache.kafka.connect.transforms.Flatten$Value"),
            6,
            "Flatten$Value is not a single message transform that Isthmus has",
        ),
        (
            M.format("MaskField$Value") + "A->B.transforms.m.fields = x\n",
            6,
            "fails in MirrorMaker 2 too → transform.value.format = json",
        ),
        (
            "A->B.transforms = m\nA->B.transforms.m.type = DropHeaders\n",
            6,
            "DropHeaders needs the setting headers",
        ),
        (
            "A->B.transforms = m\nA->B.transforms.m.type = Filter\nA->B.transforms.m.x = y\n",
            7,
            "Filter has no setting x",
        ),
        (
            M.format("Filter") + "A->B.transforms.m.predicate = p\n",
            7,
            "names p, which has no predicates.p.type",
        ),
        (
            M.format("TimestampRouter") + "A->B.transforms.m.timestamp.format = EEE\n",
            7,
            "EEE is not supported",
        ),
        (
            M.format("RegexRouter") + ROUTER,
            7,
            "2",
        ),
    ],
)
def test_what_is_wrong_is_refused_at_its_line(tmp_path, text, line, reason):
    found = refused(tmp_path, text)
    assert f"isthmus.properties:{line}: " in found
    assert reason in found


REGISTRY = """\
schema.registry.url = https://one:8081, https://me:hush@two:8081
schema.registry.basic.auth.user.info = reader:hush
A->B.schema.registry.ssl.truststore.location = trust.pem
A->B.transform.a/where = x
A->B.transform.a/value.format = avro
A->B.transform.a/value.schema = a INT
"""


def test_a_flow_has_a_schema_registry_whose_passwords_are_not_shown(tmp_path):
    path = tmp_path / "isthmus.properties"
    (tmp_path / "trust.pem").write_text("")
    path.write_text(TWO + REGISTRY)
    loaded_file = load_config(path)
    (flow,) = loaded_file.config.flows
    assert flow.registry == {
        "url": "https://one:8081, https://me:hush@two:8081",
        "basic.auth.user.info": "reader:hush",
        "ssl.truststore.location": str(tmp_path / "trust.pem"),
    }
    assert flow.transforms[0].value_format == "avro"
    assert "hush" not in repr(loaded_file)


def test_settings_of_a_registry_without_an_address_have_no_effect(tmp_path):
    path = tmp_path / "isthmus.properties"
    path.write_text(TWO + "schema.registry.ssl.key.password = x\n")
    found = load_config(path).config
    assert found.flows[0].registry == {}
    assert any("has no effect without schema.registry.url" in str(e) for e in found.warnings)
