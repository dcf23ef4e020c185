import pytest

from replication.naming.topic_map import read_map
from replication.settings.naming_settings import MappedName

CLUSTERS = ("east", "west", "hub")


def wrong(*lines):
    return [(each.line, each.reason) for each in read_map("\n".join(lines), CLUSTERS)[1]]


def test_a_map_has_a_topic_a_line_with_or_without_a_source():
    text = "\ufeff# names\r\norders = all.orders\n\n! old\neast:clicks=klicks # kept\n"
    lines, faults = read_map(text.replace(" # kept", ""), CLUSTERS)
    assert lines == (
        MappedName(None, "orders", "all.orders", 2),
        MappedName("east", "clicks", "klicks", 5),
    )
    assert faults == []


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        (["orders"], [(1, "'orders' has no =: write source-topic = target-topic")]),
        (["orders ="], [(1, "a name is missing")]),
        (["= x"], [(1, "a name is missing")]),
        (["a b = x"], [(1, "'a b': a topic's name cannot have ' ' in it")]),
        (["a = x # y"], [(1, "'x # y': a topic's name cannot have ' #' in it")]),
        (["eats:a = x"], [(1, "'eats' is not a cluster; did you mean east?")]),
        (["zzz:a = x"], [(1, "'zzz' is not a cluster; known: east, hub, west")]),
        (["a = x", "", "a = y"], [(3, "a is already mapped in line 1")]),
        (
            ["a = x", "b = x"],
            [
                (
                    2,
                    "b and a of line 1 would both map to x: topics of one source cannot be merged",
                )
            ],
        ),
        (
            ["a = x", "east:b = x"],
            [
                (
                    2,
                    "b and a of line 1 would both map to x: topics of one source cannot be merged",
                )
            ],
        ),
        (["east:a = x", "west:b = x"], []),
        (["a = x", "east:a = y", "east:b = x"], []),
    ],
)
def test_every_line_that_cannot_be_used_is_named(lines, faults):
    assert wrong(*lines) == faults
