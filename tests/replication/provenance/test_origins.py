"""Origins and routes: each record reaches each cluster once, and no copy returns."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.flows.kept_name_clusters import configured
from support.records.record_batches import a_batch

from replication.provenance.origins import (
    LOCAL_ORIGIN,
    ForwardingRule,
    Origins,
    carried_over,
    forwarding_id,
    rule_of,
    rule_text,
    with_whole_before,
)
from replication.provenance.routes import Routes
from replication.records.batch import producer_ids
from replication.settings.naming_settings import Naming, RenameRule, Selection
from replication.state import ProducerEntry

ALIASES = st.sampled_from("ABCDE")


class World:
    """Clusters and flows that copy one record after another, as the engine would."""

    def __init__(self, links: set[tuple[str, str]], topic: str = "t", routes=None) -> None:
        self.topic = topic
        self.links = sorted(links)
        self.routes = routes or Routes.of([configured(*each) for each in self.links], "ABCDE")
        self.origins = {each: Origins() for each in "ABCDE"}
        self.logs: dict[str, list[tuple[int, str]]] = {each: [] for each in "ABCDE"}
        self.read = Counter()
        self.producers: dict[str, int] = {}

    def copy(self, link: tuple[str, str]) -> bool:
        """Copy the next record of a flow; False: it is at its end."""
        source, target = link
        name = "->".join(link)
        if self.read[link] == len(self.logs[source]):
            return False
        producer, record = self.logs[source][self.read[link]]
        self.read[link] += 1
        rule = rule_of(self.routes.rule(name, self.topic), target)
        via = self.origins[source].path_of(producer, 0, rule)
        if via is not None:
            assert len(self.logs[target]) < 500, "it circles"
            self.logs[target].append((self._producer(name, via, link), record))
        return True

    def _producer(self, flow: str, via: tuple[str, ...], link: tuple[str, str]) -> int:
        name = forwarding_id(f"isthmus.{flow}.0", via, link[0])
        if name not in self.producers:
            number = self.producers[name] = 1000 + len(self.producers)
            origin = via[0] if via else link[0]
            entry = ProducerEntry(
                number, flow, origin, name, via=(*via, link[0]), origin_alias=origin
            )
            self.origins[link[1]].learn([entry])
        return self.producers[name]

    def run(self, seed: int = 0) -> None:
        """Let all flows copy, in any order, until nothing is left to do."""
        chance, links = random.Random(seed), list(self.links)
        busy = True
        while busy:
            chance.shuffle(links)
            busy = sum(self.copy(each) for each in links) > 0

    def reach(self, where: str) -> set[str]:
        """Return the clusters to which links lead from ``where``, itself included."""
        found = {where}
        while more := {two for one, two in self.links if one in found} - found:
            found |= more
        return found


@given(st.sets(st.tuples(ALIASES, ALIASES).filter(lambda each: each[0] != each[1])), st.integers())
def test_whatever_the_flows_each_record_comes_to_each_cluster_in_reach_once(links, seed):
    world = World(links)
    for each in "ABCDE":
        world.logs[each].append((-1, each))
    world.run(seed)
    for where, log in world.logs.items():
        copies = Counter(record for _, record in log)
        assert copies == Counter(origin for origin in "ABCDE" if where in world.reach(origin))


@given(st.sets(st.tuples(ALIASES, ALIASES).filter(lambda each: each[0] != each[1])), st.integers())
def test_flows_that_know_nothing_of_each_other_copy_nothing_in_circles(links, seed):
    """Each flow in a file of its own: a record may arrive twice by two paths, but never returns."""
    world = World(links)
    world.routes = Alone(links)
    for each in "ABCDE":
        world.logs[each].append((-1, each))
    world.run(seed)
    for where, log in world.logs.items():
        copies = Counter(record for _, record in log)
        assert copies[where] == 1
        assert copies.keys() == {origin for origin in "ABCDE" if where in world.reach(origin)}


class Alone:
    """The routes of flows of which each is alone in its file."""

    def __init__(self, links) -> None:
        self._routes = {"->".join(each): Routes.of([configured(*each)], "ABCDE") for each in links}

    def rule(self, flow: str, topic: str) -> str:
        return self._routes[flow].rule(flow, topic)


def rules(*flows, topic: str = "t") -> dict[str, str]:
    routes = Routes.of(flows, "ABC")
    return {each.name: routes.rule(each.name, topic) for each in flows}


def test_in_a_mesh_nothing_is_passed_on_and_in_a_ring_everything():
    mesh = rules(configured("A", "B"), configured("B", "C"), configured("A", "C"))
    assert mesh == {"A->B": "producer-id", "B->C": "producer-id -A", "A->C": "producer-id -B"}
    ring = rules(configured("A", "B"), configured("B", "C"), configured("C", "A"))
    assert set(ring.values()) == {"producer-id"}


def test_heartbeats_are_reported_by_their_names_on_every_hop():
    ring = [configured(*each) for each in ("AB", "BC", "CA")]
    for topic in ("heartbeats", "A.heartbeats", "B.A.heartbeats"):
        assert set(rules(*ring, topic=topic).values()) == {""}


def test_a_flow_that_does_not_select_the_topic_is_no_way():
    direct = configured("A", "C", selection=Selection(topics=("other",)))
    assert rules(configured("A", "B"), configured("B", "C"), direct)["B->C"] == "producer-id"


def test_a_flow_that_renames_is_a_way_to_the_names_that_its_rule_can_make():
    naming = Naming(kind="rename", rename=RenameRule(pattern=r"dc\.(.+)", replacement="all.$1"))
    direct = configured("A", "C").model_copy(update={"naming": naming})
    flows = configured("A", "B"), configured("B", "C"), direct
    assert rules(*flows, topic="all.t")["B->C"] == "producer-id -A"
    assert rules(*flows, topic="dc.t")["B->C"] == "producer-id"
    twelve = RenameRule(pattern="(.)" * 11 + "(.*)", replacement="all.$12")
    by_group = direct.model_copy(update={"naming": Naming(kind="rename", rename=twelve)})
    flows = configured("A", "B"), configured("B", "C"), by_group
    assert rules(*flows, topic="all.t")["B->C"] == "producer-id -A"


def test_with_prefixes_and_by_request_all_is_copied():
    prefixed = configured("A", "B").model_copy(update={"naming": Naming(kind="prefix")})
    assert rules(prefixed, configured("B", "C", cycle_prevention="names")) == {
        "A->B": "",
        "B->C": "",
    }


@given(st.sets(st.from_regex(r"[\w.-]+", fullmatch=True)))
def test_a_rule_is_reported_as_text_and_back(aliases):
    assert rule_of(rule_text(aliases), "id") == ForwardingRule("id", frozenset(aliases))
    assert rule_of("", "id") is None
    whole = with_whole_before(rule_text(aliases), 1200)
    assert rule_of(whole, "id") == ForwardingRule("id", frozenset(aliases), whole_before=1200)
    assert carried_over(rule_text({"C"}), whole) == with_whole_before(rule_text({"C"}), 1200)
    assert carried_over(rule_text({"C"}), rule_text(aliases)) == rule_text({"C"})
    assert carried_over("", whole) == ""


def test_below_an_offset_copies_come_home_to_fill_a_topic_anew_and_go_nowhere_from_there():
    origins, home = Origins(), Origins()
    origins.learn([ProducerEntry(5, "A->B", "a", "isthmus.A->B.0")])
    rule = rule_of(with_whole_before(rule_text({"A"}), 10), "a")
    assert rule is not None
    assert [origins.path_of(5, at, rule) for at in (9, 10)] == [("a",), None]
    assert [origins.path_of(6, at, rule) for at in (9, 10)] == [LOCAL_ORIGIN, LOCAL_ORIGIN]
    home.learn([ProducerEntry(8, "B->A", "a", "x", via=("a", "b"), origin_alias="A")])
    assert home.path_of(8, 0, ForwardingRule("b")) is None


def test_what_is_in_no_entry_was_local_once_the_registry_was_read():
    origins = Origins()
    assert origins.unknown([-1, 5, 6]) == {5, 6}
    origins.learn([ProducerEntry(5, "B->A", "b", "isthmus.B->A.0")])
    origins.note_looked_up([5, 6])
    assert origins.unknown([5, 6, 7]) == {7}
    assert origins.path_of(6, 0, ForwardingRule("b")) == LOCAL_ORIGIN
    assert origins.path_of(-1, 0, ForwardingRule("b")) == LOCAL_ORIGIN
    assert origins.path_of(5, 0, ForwardingRule("b")) is None
    assert origins.path_of(5, 0, ForwardingRule("c")) == ("b",)


def test_an_entry_of_an_older_release_says_its_origin_and_its_alias():
    entry = ProducerEntry(5, "B->A", "b", "isthmus.B->A.0")
    assert ForwardingRule("c", frozenset("B")).path_of(entry, 0) is None
    assert ForwardingRule("c", frozenset("A")).path_of(entry, 0) == ("b",)


def test_what_many_short_lived_producers_wrote_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("replication.provenance.origins._MAX_LOCAL", 10)
    origins = Origins()
    for number in range(100):
        origins.note_looked_up([number])
    assert len(origins.unknown(range(100))) > 80
    assert not origins.unknown([99, -1])


@given(st.lists(st.integers(-1, 1 << 40), max_size=6), st.binary(max_size=80))
def test_producer_ids_are_found_in_headers_however_the_answer_ends(ids, rest):
    whole = b"".join(a_batch(n, [b"v"], (each, 0, 0)) for n, each in enumerate(ids))
    assert set(ids) <= producer_ids(memoryview(whole + rest))


@pytest.mark.parametrize("length", [0, 11, 60])
def test_a_header_that_is_cut_off_tells_nothing(length):
    assert producer_ids(memoryview(a_batch(0, [b"v"], (7, 0, 0)))[:length]) == set()
