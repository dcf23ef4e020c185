"""The topology of a file's flows, from the file alone and from plans."""

from support.fakes.memory_admin import MemoryCluster
from support.fakes.plan_clusters import Stage
from support.settings.configs import a_config, a_flow

from replication.naming.topology import Merge, TopicName, drawn
from replication.planning.live_topology import with_topics
from replication.planning.planner import Planner, TargetPlan
from replication.settings.naming_settings import MappedName, Naming, Selection
from replication.settings.topic_settings import TopicCreation

KEPT = Naming(kind="identity")


def flow(source, target="C", naming=KEPT, topics=("orders",)):
    update = {
        "naming": naming,
        "selection": Selection(topics=topics),
        "creation": TopicCreation(replication_factor=1),
    }
    return a_flow(source, target).model_copy(update=update)


def topics(found, name):
    return next(edge.topics for edge in found.edges if edge.flow == name)


def test_names_that_the_file_writes_out_are_known_without_a_cluster():
    mapped = Naming(mapped=(MappedName(None, "clicks", "klicks"), MappedName("B", "x", "y")))
    found = drawn(a_config(flow("A", naming=mapped, topics=("orders", "cli.*"))))
    assert topics(found, "A->C") == (
        TopicName("clicks", "klicks"),
        TopicName("orders", "A.orders"),
    )


def test_topics_of_one_name_merge():
    found = drawn(a_config(flow("A"), flow("B")))
    assert found.merges == (Merge("C", "orders", ("A", "B")),)


def test_patterns_may_merge_what_they_match_alike():
    found = drawn(a_config(flow("A", topics=("o.*",)), flow("B", topics=("o.*",))))
    assert found.merges == (Merge("C", "", ("A", "B")),)


def test_prefixes_keep_topics_apart():
    prefixed = flow("A", naming=Naming()), flow("B", naming=Naming())
    assert drawn(a_config(*prefixed)).merges == ()


def test_flows_that_keep_names_in_a_circle_are_marked():
    found = drawn(a_config(flow("A", "B"), flow("B", "A"), flow("A", "C")))
    assert found.cycles == (("A", "B", "A"),)
    assert [edge.flow for edge in found.edges if edge.cycles] == ["A->B", "B->A"]


def test_two_lines_that_meet_by_chance_are_refused_before_anything_runs():
    one = Naming(kind="identity", mapped=(MappedName("A", "a", "x"), MappedName("B", "b", "x")))
    found = drawn(a_config(*(flow(each, naming=one, topics=("a", "b")) for each in "AB")))
    assert [each.target for each in found.conflicts] == ["x"]
    assert "topics.merge" in topics(found, "A->C")[0].left_out


def test_with_the_clusters_every_topic_is_shown_and_what_matched_nothing():
    stage = Stage(
        flow("A", "B", Naming(), ("orders", "clickz", "__x")),
        A=MemoryCluster({"orders": 2, "clicks": 1, "__x": 1}),
        B=MemoryCluster({"A.orders": 2}),
    )
    plan = Planner(stage.config, stage.clients, frozenset()).plan("B")
    (edge,) = with_topics(drawn(stage.config), [plan]).edges
    assert edge.topics[0] == TopicName("orders", "A.orders", "", there=True)
    assert (edge.topics[1].topic, edge.topics[1].left_out[:27]) == (
        "__x",
        "matched but not replicated:",
    )
    assert edge.gap == "no topic of the source matches clickz yet; near: clicks"


def test_a_cluster_that_is_silent_is_reported_and_the_file_is_drawn_all_the_same():
    config = a_config(flow("A"))
    silent = "cluster C does not answer: connecting to c:9092: refused"
    found = with_topics(drawn(config), [TargetPlan(t, problems=(silent,)) for t in "BC"])
    assert found.problems == (silent,)
    assert topics(found, "A->C") == (TopicName("orders", "orders"),)
