import pytest

from replication.config.file.dialect import (
    UnclosedQuote,
    flow_arrow,
    in_unit,
    list_value,
    plain_value,
    secret_value,
)


def text_of(result):
    return result[0]


def remarks_of(result):
    return [remark.message for remark in result[1]]


COMMENT = "the comment after the value is removed"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        pytest.param('"a"', "a", id="double quotes"),
        pytest.param("'a'", "a", id="single quotes"),
        pytest.param("a # b", "a", id="comment"),
        pytest.param("a#b", "a#b", id="a # inside a word"),
        pytest.param('"a # b" # c', "a # b", id="a # inside quotes"),
        pytest.param("# nothing", "", id="comment alone"),
        pytest.param("it's", "it's", id="a single apostrophe"),
        pytest.param("Integer.MAX_VALUE", "2147483647", id="Java's largest int"),
        pytest.param("Long.MAX_VALUE", "9223372036854775807", id="Java's largest long"),
        pytest.param("  a  ", "a", id="blanks around"),
    ],
)
def test_a_value_loses_what_the_looser_dialect_adds(written, plain):
    assert text_of(plain_value(written)) == plain


def test_each_change_is_remarked_on_and_nothing_else():
    assert remarks_of(plain_value('"1" # one')) == [
        COMMENT,
        "the quotes around the value are removed",
    ]
    assert remarks_of(plain_value("a#b")) == []


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        pytest.param('"a", "b" , c', "a,b,c", id="quotes around items"),
        pytest.param('"a, b"', "a, b", id="quotes around the whole list"),
        pytest.param('"a{1,2}", b', "a{1,2},b", id="a comma inside quotes"),
        pytest.param("a , b # both", "a , b", id="comment"),
        pytest.param("a, b", "a, b", id="plain"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_list_loses_the_quotes_around_its_items(written, plain):
    assert text_of(list_value(written)) == plain


def test_a_hash_inside_brackets_belongs_to_a_pattern():
    assert text_of(list_value("a[ #]b # why", pattern=True)) == "a[ #]b"


@pytest.mark.parametrize("written", ['"a', 'a, "b', '"'])
def test_a_quote_that_is_not_closed_is_refused(written):
    with pytest.raises(UnclosedQuote):
        list_value(written)


def test_a_password_keeps_its_hash_and_blanks():
    assert secret_value("a # b ") == ("a # b ", ())


def test_a_password_loses_quotes_around_the_whole_only():
    assert text_of(secret_value('"a"b"')) == 'a"b'


def test_a_comment_behind_a_jaas_line_goes_but_not_one_inside_its_quotes():
    line = 'x.PlainLoginModule required username="u" password="a ; # b";'
    assert secret_value(line, jaas=True) == (line, ())
    assert secret_value(f"{line} # for mirrors", jaas=True)[0] == line


@pytest.mark.parametrize(
    ("written", "key", "unit", "number"),
    [
        pytest.param("30s", "x.interval", "s", "30", id="seconds"),
        pytest.param("5m", "x.interval.seconds", "s", "300", id="minutes"),
        pytest.param("1h", "x.ms", "ms", "3600000", id="hours in milliseconds"),
        pytest.param("1500", "x.interval.ms", "ms", "1500", id="number in the key's unit"),
        pytest.param("30000", "x.interval.ms", "s", "30", id="number moved to another unit"),
        pytest.param("30", "x.interval", "s", "30", id="number without any unit: seconds"),
        pytest.param("soon", "x.seconds", "s", "soon", id="no interval: left for the reader"),
    ],
)
def test_an_interval_becomes_a_number_in_the_unit_of_mm2s_key(written, key, unit, number):
    assert text_of(in_unit(written, key, unit)) == number


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("A", "-> B.enabled = true", "A->B.enabled"),
        ("A->", "B.topics = t1", "A->B.topics"),
        ("A", "->B.enabled=true", "A->B.enabled"),
        ("A->B.enabled", "true", None),
        ("A.x", "a->b", None),
    ],
)
def test_a_flow_arrow_with_blanks_is_recognised(key, value, meant):
    assert flow_arrow(key, value) == meant
