import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.config.file.jaas import parse_jaas
from replication.config.file.properties import as_written, parse_properties
from replication.errors import ConfigError

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
HARD = 'a"b;c,d\\e#f$g h='


def line(password):
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{SCRAM} required username="u" password="{escaped}";'


def test_bl_098_a_password_with_every_special_character_is_read_whole():
    text = f"sasl.jaas.config = {as_written(line(HARD))}\n"
    (entry,) = parse_properties(text)
    jaas = parse_jaas(entry.value)
    assert jaas.module == "ScramLoginModule"
    assert jaas.options == {"username": "u", "password": HARD}


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"])))
def test_any_password_survives_the_jaas_line(password):
    assert parse_jaas(line(password)).options["password"] == password


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{SCRAM} required username=u password=p;", id="bare words"),
        pytest.param(f'{SCRAM} REQUIRED\n username="u"\n password="p" ;', id="several lines"),
        pytest.param(f"{SCRAM} required username='u' password='p';", id="single quotes"),
        pytest.param(f'{SCRAM} required username = "u" password = "p";', id="blanks around ="),
    ],
)
def test_a_line_may_be_laid_out_in_several_ways(text):
    assert parse_jaas(text).options == {"username": "u", "password": "p"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "no login module", id="empty"),
        pytest.param(f'{SCRAM} username="u";', "no login module and control flag", id="no flag"),
        pytest.param(f'{SCRAM} required username="u"', "does not end in a semicolon", id="no end"),
        pytest.param(f'{SCRAM} required password="hush;', "quote that is not closed", id="quote"),
        pytest.param(f'{SCRAM} required password="hu"sh";', "quote", id="quote inside"),
        pytest.param(f"{SCRAM} required username;", "not followed by =value", id="no value"),
    ],
)
def test_a_broken_line_is_refused_without_showing_the_password(text, why):
    with pytest.raises(ConfigError, match=why) as error:
        parse_jaas(text)
    assert "hush" not in str(error.value)


def test_the_options_are_not_shown():
    assert "hush" not in repr(parse_jaas(f'{SCRAM} required password="hush";'))
