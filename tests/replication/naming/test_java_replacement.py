r"""The expected values are those of Java 17's ``Matcher.replaceFirst`` for a whole match."""

import re

import pytest

from replication.naming.java_replacement import BadReplacement, read_replacement

CLUSTERS = {"source": "us", "target": "eu"}


def filled(pattern: str, replacement: str, topic: str) -> str:
    compiled = re.compile(pattern)
    match = compiled.fullmatch(topic)
    assert match is not None
    return read_replacement(replacement, compiled).fill(match, CLUSTERS)


TWELVE = "".join("(.)" for _ in range(12))


@pytest.mark.parametrize(
    ("pattern", "replacement", "topic", "name"),
    [
        pytest.param("(.+)", "${source}.$1", "t", "us.t", id="the source"),
        pytest.param("(.+)", "$1@${target}", "t", "t@eu", id="the target"),
        pytest.param("a(.)", "$0$1", "ab", "abb", id="the whole match"),
        pytest.param("(.)(.)?", "$1$2!", "a", "a!", id="a group that took no part"),
        pytest.param("(.)", "$12", "a", "a2", id="one digit when there are fewer groups"),
        pytest.param(TWELVE, "$12", "abcdefghijkl", "l", id="two digits when there are more"),
        pytest.param("(?P<x>.)", "${x}-$1", "a", "a-a", id="a group's name"),
        pytest.param("(.)", r"\$1\\$1", "a", r"$1\a", id="escaped"),
        pytest.param("(.)", "", "a", "", id="nothing"),
    ],
)
def test_a_replacement_is_read_as_java_reads_it(pattern, replacement, topic, name):
    assert filled(pattern, replacement, topic) == name


@pytest.mark.parametrize(
    ("pattern", "replacement", "reason"),
    [
        ("(.)", "$2", r"\$2 names a group that topics.rename.regex does not have: it has 1"),
        ("(.)", "$x", r"has a \$ without a reference"),
        ("(.)", "cost$", r"has a \$ without a reference"),
        ("(.)", "a\\", "ends in a single backslash"),
        ("(.)", "${clusters}", r"\$\{clusters\} is not known"),
        ("(.)", "${x", r"has a \$ without a reference"),
        ("(?P<source>.)", "$1", "the pattern's group source has the name of a cluster"),
    ],
)
def test_a_replacement_that_java_would_refuse_is_refused(pattern, replacement, reason):
    with pytest.raises(BadReplacement, match=reason):
        read_replacement(replacement, re.compile(pattern))
