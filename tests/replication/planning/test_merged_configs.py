import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.planning.merged_configs import ConfigConflict, merge_configs

A, B, C = "a", "b", "c"
AGREED = {A: {"retention.ms": "1"}, B: {"retention.ms": "1"}}
TWO_TO_ONE = {A: {"retention.ms": "9"}, B: {"retention.ms": "1"}, C: {"retention.ms": "1"}}
ONE_LACKS_IT = {A: {"retention.ms": "9"}, B: {}}
TIE = {A: {"retention.ms": "9"}, B: {"retention.ms": "1"}}


@pytest.mark.parametrize(
    ("sources", "strategy", "value"),
    [
        pytest.param(AGREED, "INTERSECTION", "1", id="all agree"),
        pytest.param(TWO_TO_ONE, "INTERSECTION", None, id="not all agree"),
        pytest.param(ONE_LACKS_IT, "INTERSECTION", None, id="not set is no agreement"),
        pytest.param(TWO_TO_ONE, "MAJORITY", "1", id="two of three"),
        pytest.param(TIE, "MAJORITY", None, id="a tie sets nothing"),
        pytest.param({**ONE_LACKS_IT, C: {}}, "MAJORITY", None, id="most do not set it"),
        pytest.param(TWO_TO_ONE, "FIRST", "9", id="the first source's"),
        pytest.param({B: {}, A: {"retention.ms": "9"}}, "FIRST", None, id="the first sets nothing"),
        pytest.param(AGREED, "NONE", None, id="nothing is taken over"),
        pytest.param({A: {"retention.ms": "9"}}, "INTERSECTION", "9", id="a single source"),
        pytest.param({}, "FIRST", None, id="no source"),
    ],
)
def test_the_strategy_decides_where_sources_differ(sources, strategy, value):
    assert merge_configs(sources, strategy).configs.get("retention.ms") == value


def test_each_difference_is_named_with_its_outcome():
    merged = merge_configs(TWO_TO_ONE, "MAJORITY")
    assert merged.conflicts == (ConfigConflict("retention.ms", {A: "9", B: "1", C: "1"}, "1"),)
    assert str(merged.conflicts[0]) == "retention.ms differs (a: 9, b: 1, c: 1): 1 holds"
    (lacking,) = merge_configs(ONE_LACKS_IT, "INTERSECTION").conflicts
    assert str(lacking) == "retention.ms differs (a: 9, b: not set): the target's default holds"


CONFIGS = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"))
SOURCES = st.dictionaries(st.sampled_from("abcd"), CONFIGS, min_size=1)


@given(SOURCES, st.sampled_from(["INTERSECTION", "MAJORITY", "FIRST"]))
def test_what_all_sources_agree_on_is_set_and_all_else_is_named(sources, strategy):
    merged = merge_configs(sources, strategy)
    named = {each.key for each in merged.conflicts}
    for key in {key for each in sources.values() for key in each}:
        values = {each.get(key) for each in sources.values()}
        assert (key in named) == (len(values) > 1)
        if len(values) == 1:
            assert {merged.configs[key]} == values


@given(SOURCES)
def test_the_intersection_is_within_every_other_strategy(sources):
    agreed = merge_configs(sources, "INTERSECTION").configs.items()
    for strategy in ("MAJORITY", "FIRST"):
        assert agreed <= merge_configs(sources, strategy).configs.items()
