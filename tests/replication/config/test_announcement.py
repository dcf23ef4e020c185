"""A loaded file brings its warnings, and the patterns as they were read."""

from __future__ import annotations

from support.settings.config_files import TWO, loaded

from replication.config.announcement import effective_patterns, pattern_line


def test_a_lost_backslash_is_a_warning_with_its_line_and_shows_in_the_effective_pattern(tmp_path):
    config = loaded(tmp_path, TWO + "topics = evt\\d+, a\ngroups =\n").config
    (warning,) = (each for each in config.warnings if "topics" in each)
    assert warning.startswith(f"{config.path}:5: topics: the properties format removes")
    assert effective_patterns(config.flows[0]) == {
        "topics": "evtd+, a",
        "topics.exclude": r".*[\-\.]internal, .*\.replica, __.*",
        "groups": "(none)",
        "groups.exclude": "console-consumer-.*, connect-.*, __.*",
    }
    assert pattern_line(config.flows[0]).startswith("A->B: topics = evtd+, a; topics.exclude = ")


def test_notes_and_lenient_errors_are_told_apart(tmp_path):
    text = TWO + "B.producer.acks = all\nno.such.key = 1\n"
    warnings = loaded(tmp_path, text, lenient=True).config.warnings
    assert [each.split(": ")[1] for each in warnings] == ["no.such.key"]
