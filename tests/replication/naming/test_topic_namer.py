import pytest
from support.settings.configs import a_config, a_flow

from replication.naming.topic_namer import Namer, rule_text
from replication.provenance.routes import Routes, detects_copies
from replication.settings.naming_settings import MappedName, Naming, RenameRule

KEPT_BY_MAP = Naming(mapped=(MappedName(None, "orders", "orders"),))
RULE = RenameRule(pattern="(.+)", replacement="x-$1")


def flow(source="A", target="B", naming=KEPT_BY_MAP):
    return a_flow(source, target).model_copy(update={"naming": naming})


def test_a_map_that_keeps_a_name_makes_its_flow_tell_copies_by_producer_id():
    assert detects_copies(flow())
    assert not detects_copies(flow(naming=Naming()))


def test_a_mapped_name_counts_when_it_is_judged_which_way_records_come():
    to_x = Naming(mapped=(MappedName("A", "orders", "x"),))
    flows = flow("A", "C", to_x), flow("B", "A", Naming(kind="identity")), flow("B", "C", to_x)
    routes = Routes.of(flows, ["A", "B", "C"])
    assert routes.rule("B->C", "x") == "producer-id -A", "A's come by A->C"


def test_flows_with_equal_rules_name_equal_topics_by_the_same_rule():
    flows = flow("A", "C"), flow("B", "C")
    (one,), (other,) = (Namer.for_flow(each, a_config(*flows)).named(["orders"]) for each in flows)
    assert (one.rule, one.target) == (other.rule, other.target)


def test_what_tells_a_rule_from_others_is_short_however_long_a_map_is():
    lines = tuple(MappedName(None, f"t{n}", f"u{n}") for n in range(1000))
    flows = flow("A", "C"), flow("B", "C", Naming(mapped=lines))
    (one,), (other,) = (Namer.for_flow(each, a_config(*flows)).named(["orders"]) for each in flows)
    assert one.rule != other.rule
    assert len(other.rule) == 16


@pytest.mark.parametrize(
    ("naming", "text"),
    [
        (Naming(), "A.t"),
        (Naming(kind="identity"), "t"),
        (
            Naming(kind="rename", rename=RenameRule(pattern="(.+)", replacement="x-$1")),
            "(.+) → x-$1",
        ),
        (KEPT_BY_MAP, "A.t; 1 line of a map"),
    ],
)
def test_how_topics_are_named_is_reported_in_a_few_words(naming, text):
    assert rule_text(flow(naming=naming)) == text
