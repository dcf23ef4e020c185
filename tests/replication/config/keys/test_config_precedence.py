from hypothesis import given
from hypothesis import strategies as st
from support.settings.config_files import texts, values

from replication.config.keys.client_keys import CONNECTION
from replication.config.keys.precedence import (
    client_properties,
    connector_properties,
    data_producer_properties,
    owner,
)

ALIASES = ("A", "B", "A.B")
FLOW = ("A", "B")
NAMES = st.sampled_from(["ssl.key.password", "security.protocol", "client.id", "fetch.min.bytes"])
PREFIXES = ["", "A.", "A.consumer.", "B.", "A.B.", "A.B.consumer.", "A->B.consumer.",
            "A->B.source.consumer.", "A->B.", "B->A.source.consumer.", "consumer."]  # fmt: skip
FILES = st.dictionaries(
    st.tuples(st.sampled_from(PREFIXES), NAMES).map("".join), st.uuids().map(str), max_size=12
)


def consumer(given):
    connector = connector_properties(values(given), ALIASES, FLOW)
    return texts(client_properties(connector, "source", "consumer"))


@given(FILES, NAMES)
def test_the_strongest_level_that_is_set_decides(given, name):
    levels = [f"A->B.source.consumer.{name}", f"A.consumer.{name}"]
    if name in CONNECTION:
        levels += [f"A.{name}", name]
    levels.append(f"A->B.consumer.{name}")
    expected = next((given[key] for key in levels if key in given), None)
    assert consumer(given).get(name) == expected


@given(FILES)
def test_a_longer_aliass_settings_never_reach_a_shorter_one(given):
    without = {key: value for key, value in given.items() if not key.startswith("A.B.")}
    assert consumer(given) == consumer(without)


@given(FILES)
def test_every_value_keeps_the_line_it_came_from(given):
    resolved = connector_properties(values(given), ALIASES, FLOW)
    assert all(given[value.key] == value.text for value in resolved.values() if value.line)


def test_the_longest_alias_owns_a_key():
    assert owner("A.B.consumer.x", ALIASES) == "A.B"
    assert owner("A.Bx.consumer", ALIASES) == "A"
    assert owner("consumer.x", ALIASES) is None


def test_the_data_producer_asks_the_target_and_the_flows_override_alone():
    given = {
        "producer.acks": "0",
        "A->B.producer.acks": "1",
        "A->B.target.producer.acks": "2",
        "B.producer.acks": "3",
        "B.producer.linger.ms": "4",
        "A->B.producer.override.acks": "5",
    }
    assert texts(data_producer_properties(values(given), ALIASES, FLOW)) == {
        "acks": "5",
        "linger.ms": "4",
    }
