import pytest

from replication.naming.java_regex import Untranslatable, compile_rules, to_python


def matches(pattern, name):
    return any(rule.matches(name) for rule in compile_rules([pattern]))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        pytest.param("orders", "orders", "orders2", id="plain"),
        pytest.param("a.c", "abc", "ac", id="dot"),
        pytest.param(r"[\-\.]x", "-x", "ax", id="escapes in a class"),
        pytest.param(r"\Qa.b\E.*", "a.bc", "axbc", id="quoted"),
        pytest.param(r"a\Q[", "a[", "a", id="quoted to the end"),
        pytest.param(r"\p{Alpha}+", "abc", "ab1", id="posix class"),
        pytest.param(r"[\p{Upper}_]+", "A_B", "a", id="posix class in a set"),
        pytest.param(r"\P{Digit}", "a", "1", id="negated posix class"),
        pytest.param(r"(?<n>a|b)\k<n>", "aa", "ab", id="named group"),
        pytest.param("(?i)AbC", "aBc", "abd", id="flag at the start"),
        pytest.param("a(?i)b", "aB", "AB", id="flag in the middle"),
        pytest.param("xa(?i)|b", "B", "XA", id="flag reaches over an alternative"),
        pytest.param("(?:a(?i)b)c", "aBc", "aBC", id="flag ends with its group"),
        pytest.param("(?i:a)b", "Ab", "AB", id="flag of a group"),
        pytest.param("a*+b", "aab", "aaa", id="possessive"),
        pytest.param("(?>a|ab)c", "ac", "abc", id="atomic"),
        pytest.param("(?!tmp).*", "abc", "tmp1", id="lookahead"),
        pytest.param(r".*(?<!-dlq)", "t", "t-dlq", id="lookbehind"),
        pytest.param(r"\d+", "12", "١٢", id="digits are ASCII"),
        pytest.param(r"\w+", "a_1", "é", id="words are ASCII"),
        pytest.param("a\\z", "a", "a\n", id="end of input"),
        pytest.param("[]a]", "]", "b", id="bracket first in a class"),
        pytest.param("[a--]", "-", "b", id="two dashes in a class"),
        pytest.param(r"t\x41\u0042", "tAB", "tab", id="hexadecimal"),
        pytest.param("a{2,3}", "aaa", "a", id="counted"),
    ],
)
def test_a_java_pattern_matches_whole_names(pattern, yes, no):
    assert matches(pattern, yes)
    assert not matches(pattern, no)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        pytest.param("[a-z&&[^b]]", "write it out", id="intersection"),
        pytest.param("[a[bc]]", "write it out", id="union"),
        pytest.param(r"\p{IsGreek}", "not supported", id="script"),
        pytest.param(r"\R", "no equivalent in Python", id="line break"),
        pytest.param("a(?-i)b", "switches a flag off", id="flag off"),
        pytest.param("(?U)a", "no equivalent in Python", id="flag"),
        pytest.param("(a", "unterminated", id="open parenthesis"),
        pytest.param("a)", "unbalanced", id="closing parenthesis"),
        pytest.param("[a", "not closed", id="open class"),
        pytest.param("*a", "nothing to repeat", id="nothing to repeat"),
        pytest.param("a\\", "single backslash", id="backslash at the end"),
        pytest.param("(?<=a+)b", "fixed-width", id="lookbehind of any length"),
    ],
)
def test_a_pattern_that_cannot_be_told_is_refused_with_the_reason(pattern, why):
    with pytest.raises(Untranslatable, match=why):
        to_python(pattern)


def test_a_flag_holds_for_the_items_after_it_as_in_the_joined_pattern():
    rules = compile_rules(["a", "(?i)b", "c"])
    assert [any(rule.matches(name) for rule in rules) for name in "aABCc"] == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_items_that_are_patterns_only_together_are_joined():
    (rule,) = compile_rules(["(a", "b)c"])
    assert rule.text == "(a|b)c"
    assert [rule.matches(name) for name in ("ac", "bc", "a")] == [True, True, False]


def test_a_count_that_a_comma_cuts_in_two_is_refused_as_java_refuses_it():
    with pytest.raises(Untranslatable, match="begins no count"):
        compile_rules(["a{1", "3}"])
