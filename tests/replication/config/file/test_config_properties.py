import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.config.file.properties import (
    MalformedText,
    PropertyEntry,
    as_written,
    decode,
    parse_properties,
)


def pairs(text):
    return [(entry.key, entry.value) for entry in parse_properties(text)]


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        pytest.param("a=b", ("a", "b"), id="equals sign"),
        pytest.param("a:b", ("a", "b"), id="colon"),
        pytest.param("a b", ("a", "b"), id="blank"),
        pytest.param("  a \t = \f b", ("a", "b"), id="blanks around the separator"),
        pytest.param("a = b  ", ("a", "b  "), id="blanks at the end belong to the value"),
        pytest.param("a==b", ("a", "=b"), id="second equals sign"),
        pytest.param("a", ("a", ""), id="key alone"),
        pytest.param(r"a\=b\ c\:d=e", ("a=b c:d", "e"), id="escaped separators"),
        pytest.param(r"a=\\d\.\t", ("a", "\\d.\t"), id="escapes"),
        pytest.param(r"a=\u0041\u00e9", ("a", "Aé"), id="unicode escapes"),
        pytest.param(r"a=\ud83d\ude00", ("a", "😀"), id="surrogate pair"),
        pytest.param("a=b # c", ("a", "b # c"), id="no comment behind a value"),
        pytest.param("a=b\\", ("a", "b"), id="continuation at the end of the file"),
        pytest.param("a=b\\\\", ("a", "b\\"), id="escaped backslash continues nothing"),
        pytest.param("A->B.topics=x", ("A->B.topics", "x"), id="arrow"),
    ],
)
def test_a_line_is_read_as_java_reads_it(line, pair):
    assert pairs(line) == [pair]


def test_comments_and_blank_lines_are_no_entries():
    assert pairs("# a=b\n  ! c=d\n\n \t\n") == []


def test_a_comment_line_is_not_continued():
    assert pairs("# a \\\nb=c") == [("b", "c")]


def test_a_continuation_loses_its_indentation_and_keeps_the_first_lines_number():
    text = "x=1\ntopics = a.*, \\\n   b.*\\\n\ty=2\r\nz=3\r"
    assert parse_properties(text) == (
        PropertyEntry("x", "1", 1),
        PropertyEntry("topics", "a.*, b.*y=2", 2),
        PropertyEntry("z", "3", 5),
    )


def test_a_repeated_key_is_kept_twice():
    assert pairs("a=1\na=2") == [("a", "1"), ("a", "2")]


def test_a_dropped_backslash_is_remembered():
    assert parse_properties(r"a=x\.\d\\w")[0].dropped == ".d"


def test_a_broken_unicode_escape_is_refused_with_its_line():
    with pytest.raises(MalformedText) as error:
        parse_properties("a=1\nb=\\u00x1")
    assert error.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1"])
def test_a_file_may_be_utf_8_or_latin_1(encoding):
    assert decode("a=é".encode(encoding)) == "a=é"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXT)
def test_a_value_as_it_is_written_parses_back(value):
    assert pairs(f"key = {as_written(value)}\n") == [("key", value)]


@given(st.text())
def test_any_text_parses_or_is_refused(text):
    try:
        entries = parse_properties(text)
    except MalformedText:
        return
    assert all(1 <= entry.line <= text.count("\n") + text.count("\r") + 1 for entry in entries)


def test_a_backslash_alone_continues_nothing_as_in_java():
    assert pairs("\\\n# comment\n\\\na=b") == [("a", "b")]
