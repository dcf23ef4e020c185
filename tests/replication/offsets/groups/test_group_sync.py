"""A round of carrying groups over: what is read, what is waited for, what is committed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.fakes.memory_groups import Groups

from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.naming.selection import TopicSelector
from replication.offsets.groups.consumer_groups import (
    UNSTABLE,
    Committed,
    Group,
    LeaveGroup,
    LeaveOffset,
    explain_group,
)
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.groups.sync_round import ALL_EVERY_S
from replication.offsets.known_points import KnownPoints
from replication.offsets.offset_map import NOT_YET, Answer, without_answer
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.naming_settings import Selection
from replication.state import Anchor, GroupPositions

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
LATER, LATER_COPY = TopicPartition("orders", 1), TopicPartition("A.orders", 1)
NO_LEADER = ClusterUnavailable("no leader")
CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
FLOW = Flow(source="A", target="B", clients=CLIENTS)


class Offsets:
    """Source offset 10 stands at 1010 and so on; ``copied`` is where the copy stands.

    None: nothing is copied yet. The source ends at ``end``.
    """

    def __init__(self, *copied, shift=1000, copy=COPY, end=90):
        self.copied, self.shift, self.copy, self.end = list(copied), shift, copy, end
        self.known, self.errors, self.looks = KnownPoints("A->B"), {}, 0

    def look(self):
        self.looks += 1
        at = self.copied.pop(0) if len(self.copied) > 1 else self.copied[0]
        if at is not None:
            there = at + self.shift
            self.known.learn([Anchor("A->B", *ORDERS, self.copy.topic, at, there)])
        return self.known

    look_at_target = look

    def translate(self, expected, *, back=False, ahead=True):
        copied = {
            where: offsets for where, offsets in expected.items() if where in self.known.anchors
        }
        return {
            where: {each: self.answer(each) for each in offsets}
            for where, offsets in copied.items()
        }

    def answer(self, offset):
        if offset > self.end:
            return without_answer(f"is beyond the end of the source ({self.end})")
        at = self.known.anchors[ORDERS].source
        return Answer(offset + self.shift if offset <= at else None)


def at(offset, metadata="", where=ORDERS):
    return {where: Committed(offset, metadata)}


def a_sync(offsets, source, target=None, **rest):
    flow = rest.pop("flow", FLOW)
    topics = TopicSelector.for_flow(flow, ("A", "B", "C"))
    return GroupSync(flow, topics, offsets, source, target or Groups(), wait=lambda _: None, **rest)


def test_positions_are_committed_where_the_same_record_stands_with_their_metadata():
    sync = a_sync(Offsets(50), Groups(g=at(10, "note")))
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1010, "note", COPY)}
    assert sync.sync() == "1 groups, 0 updated"


def test_cc_08_ct_06_groups_topics_and_positions_that_do_not_count_are_left_out():
    elsewhere = {TopicPartition("other", 0): Committed(3), **at(-1)}
    flow = FLOW.model_copy(update={"selection": Selection(topics=("orders",))})
    sync = a_sync(Offsets(50), Groups(**{"connect-x": at(10), "g": elsewhere}), flow=flow)
    assert sync.sync() == (
        "1 groups, 0 updated; 1 excluded, "
        "connect-x: excluded by 'connect-.*' of groups.exclude, a default"
    )
    assert sync.target.held == {}


def test_what_was_just_read_waits_for_the_next_anchors():
    sync = a_sync(Offsets(5, 8, 20), Groups(g=at(12)))
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1012, where=COPY)}


def test_what_is_not_copied_yet_is_left_and_reported():
    flow = impatient(FLOW)
    sync = a_sync(Offsets(5), Groups(g=at(12), h=at(3)), flow=flow)
    found = sync.plan()
    assert found.waiting == 1
    assert [each.group for each in found.commits] == ["h"]


def impatient(flow):
    quick = replace(flow.copying, anchor_every=timedelta(seconds=-1.4))
    return flow.model_copy(update={"copying": quick})


def test_a_group_that_stands_still_is_looked_at_now_and_then_only(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("replication.offsets.groups.group_sync.time.monotonic", lambda: now[0])
    sync = a_sync(Offsets(50), Groups(g=at(10), h=at(20)))
    sync.sync()
    sync.target.held["g"] = at(3, where=COPY)  # somebody has taken it back there
    sync.source.held["h"] = at(30)
    assert sync.sync() == "2 groups, 1 updated"
    assert sync.target.held == {"g": at(3, where=COPY), "h": at(1030, where=COPY)}
    now[0] += ALL_EVERY_S
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY), "h": at(1030, where=COPY)}


@pytest.mark.parametrize("forgotten", ["the offset", "the group"])
def test_bl_238_what_the_target_forgets_is_back_within_a_minute_and_a_plan_shows_it_at_once(
    monkeypatch, forgotten
):
    """A broker deletes the offsets of a group whose topic is silent; or an operator the group."""
    now = [1000.0]
    monkeypatch.setattr("replication.offsets.groups.group_sync.time.monotonic", lambda: now[0])
    sync = a_sync(Offsets(50), Groups(g=at(10), h=at(20)))
    sync.sync()
    if forgotten == "the group":
        del sync.target.held["g"]
    else:
        sync.target.held["g"].clear()
    (commit,) = sync.plan().commits
    assert (commit.group, commit.positions) == ("g", at(1010, where=COPY))
    now[0] += ALL_EVERY_S - 0.1
    sync.sync()
    assert not sync.target.held.get("g")
    now[0] += 0.1
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY), "h": at(1020, where=COPY)}


def test_a_group_that_waits_or_was_left_is_looked_at_in_every_round():
    target = Groups(g={}, h={})
    target.states["g"] = "Stable"
    sync = a_sync(Offsets(50), Groups(g=at(10), h=at(60)), target, flow=impatient(FLOW))
    sync.sync()
    target.states.clear()
    sync.offsets.copied = [70]
    sync.sync()
    assert target.held == {"g": at(1010, where=COPY), "h": at(1060, where=COPY)}


def test_a_quiet_group_is_moved_in_the_first_round_after_its_partition_has_an_anchor():
    sync = a_sync(Offsets(None, None, 50), Groups(g=at(10)))
    for _ in range(2):
        assert sync.sync() == "1 groups, 0 updated; 1 offsets not copied yet"
        assert sync.target.held == {}
    assert sync.offsets.looks == 2, "a round does not wait for a copy that has not begun"
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1010, where=COPY)}


def test_a_group_of_which_one_partition_is_not_copied_yet_stays_active():
    late = TopicPartition("orders", 1)
    both = {**at(10), late: Committed(7)}
    sync = a_sync(Offsets(50), Groups(g=both))
    assert [each.target for each in sync.plan().translated] == [COPY, TopicPartition("A.orders", 1)]
    assert sync.sync() == "1 groups, 1 updated; 1 offsets not copied yet"
    sync.offsets.known.learn([Anchor("A->B", *late, COPY.topic, 50, 1050)])
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held["g"] == {
        **at(1010, where=COPY),
        TopicPartition(COPY.topic, 1): Committed(1007),
    }


def test_a_partition_without_a_known_position_does_not_settle_its_group():
    sync = a_sync(Offsets(None, None, 50), Groups(g=at(10)))
    sync.offsets.known.learn([Anchor("A->B", *ORDERS, COPY.topic, None, None)])
    sync.offsets.answer = lambda _: Answer(None)
    sync.flow = impatient(FLOW)
    sync.sync()
    del sync.offsets.answer
    sync.sync()
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}


@pytest.mark.parametrize("why", ["transaction", "unread"])
def test_a_group_whose_offset_on_the_target_is_unknown_does_not_settle(why):
    target = Groups(g={COPY: Committed(UNSTABLE)} if why == "transaction" else {})
    target.positions = (lambda _: {}) if why == "unread" else target.positions
    sync = a_sync(Offsets(50), Groups(g=at(10)), target)
    assert "1 unchanged, g because " in sync.sync()
    target.held["g"] = {}
    target.positions = Groups.positions.__get__(target)
    assert sync.sync() == "1 groups, 1 updated"
    assert target.held == {"g": at(1010, where=COPY)}


BEYOND = "orders-0 offset 999 is beyond the end of the source (90)"


@pytest.mark.parametrize("copied", [50, 90], ids=["lag", "no lag"])
def test_an_offset_beyond_the_end_of_the_source_is_not_moved_and_is_named_once(copied):
    reported = []
    source, target = Groups(g=at(999), h=at(10)), Groups(g=at(7, where=COPY))
    sync = a_sync(Offsets(copied), source, target, warn=reported.append)
    assert sync.sync(strict=True) == f"2 groups, 1 updated; 1 not moved, g because {BEYOND}"
    assert sync.offsets.looks == 1, "no anchor that may come changes this"
    assert sync.sync() == f"2 groups, 0 updated; 1 not moved, g because {BEYOND}"
    assert sync.target.held == {"g": at(7, where=COPY), "h": at(1010, where=COPY)}
    assert reported == [f"1 offsets have no translation: group g: {BEYOND}"]
    sync.source.held["g"] = at(1000)
    sync.sync()
    assert len(reported) == 2, "another offset is another fault"
    sync.source.held["g"] = at(20)
    assert sync.sync() == "2 groups, 1 updated"
    assert sync.target.held["g"] == at(1020, where=COPY)
    sync.source.held["g"] = at(1000)
    sync.sync()
    assert len(reported) == 3, "it had gone, so it is news"


def test_what_was_named_is_not_named_again_after_a_broker_was_away():
    reported = []
    sync = a_sync(Offsets(50), Groups(g=at(999)), warn=reported.append)
    sync.sync()
    held = sync.source.held.pop("g")
    sync.source.unavailable = {2: "broker 2 gave no answer"}
    with pytest.raises(ClusterUnavailable):
        sync.sync()
    sync.source.held["g"], sync.source.unavailable = held, {}
    sync.sync()
    assert len(reported) == 1


def test_the_offsets_of_one_group_are_translated_whether_it_is_selected_or_not():
    sync = a_sync(Offsets(50), Groups(**{"connect-x": at(10), "g": at(20)}))
    (found,) = sync.translated_of("connect-x")
    assert (found.group, found.source, found.target) == ("connect-x", ORDERS, COPY)
    assert found.answer == Answer(1010)
    assert sync.translated_of("nobody") == []


def test_an_offset_without_a_translation_is_in_the_plan():
    sync = a_sync(Offsets(50), Groups(g=at(999), h=at(10)))
    found = sync.plan()
    assert found.problems == (LeaveOffset("g", COPY, BEYOND),)
    assert (found.waiting, [each.group for each in found.commits]) == (0, ["h"])
    assert list(explain_group(found.problems[0])) == [
        f"leave group g in A.orders-0 unchanged: {BEYOND}"
    ]


def test_where_one_of_two_sources_has_no_translation_nothing_is_committed():
    sync = merged(Offsets(50, shift=500), Groups(g=at(999)))
    sync.sync()
    assert sync.target.held == {}


def test_a_group_with_live_members_is_reported():
    target = Groups(g={})
    target.states["g"] = "Stable"
    sync = a_sync(Offsets(50), Groups(g=at(10)), target)
    assert "1 unchanged, g because it has active members" in sync.sync()
    assert target.held == {"g": {}}


def test_bl_079_a_silent_coordinator_is_reported_and_other_groups_go_on():
    source = Groups(g=at(10))
    source.unavailable = {2: "broker 2 gave no answer"}
    sync = a_sync(Offsets(50), source)
    with pytest.raises(ClusterUnavailable, match="broker 2 gave no answer"):
        sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}
    source.unavailable = {}
    sync.sync()


def test_bl_079_a_partition_whose_leader_is_away_is_reported_and_others_go_on():
    offsets = Offsets(50)
    offsets.translate = lambda _, **__: offsets.errors.update({ORDERS: NO_LEADER}) or {}
    sync = a_sync(offsets, Groups(g=at(10)))
    with pytest.raises(ClusterUnavailable, match="some groups were not read: no leader"):
        sync.sync()


def merged(theirs, groups):
    other = a_sync(theirs, groups, flow=from_elsewhere(FLOW))
    return a_sync(Offsets(50), Groups(g=at(10)), siblings=lambda: (other,))


def from_elsewhere(flow):
    return flow.model_copy(update={"source": "C"})


def test_of_two_sources_in_one_partition_the_lower_position_counts():
    sync = merged(Offsets(50, shift=500), Groups(g=at(20)))
    sync.sync()
    assert sync.target.held == {"g": at(520, where=COPY)}


def test_a_group_that_lives_on_one_source_alone_stands_where_that_one_says():
    sync = merged(Offsets(50, shift=500), Groups(other=at(20)))
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}


def test_while_another_source_of_a_partition_is_silent_nothing_is_committed():
    silent = Groups(g=at(20))
    silent.silent = True
    sync = merged(Offsets(50, shift=500), silent)
    sync.sync()
    assert sync.target.held == {}


@pytest.mark.parametrize(("copy", "held"), [(COPY, {}), (TopicPartition("else", 0), {"g": 1010})])
def test_another_source_whose_registry_does_not_answer_holds_back_shared_partitions_alone(
    copy, held
):
    theirs = Offsets(50, shift=500, copy=copy)

    def look():
        raise ClusterUnavailable("C is silent")

    theirs.look = look
    sync = merged(theirs, Groups(g=at(20)))
    sync.sync()
    assert sync.target.held == {name: at(offset, where=COPY) for name, offset in held.items()}


@pytest.mark.parametrize("silence", ["unavailable", "errors"])
def test_while_a_part_of_another_source_is_silent_nothing_is_committed(silence):
    sync = merged(Offsets(50, shift=500), Groups())
    (other,) = sync.siblings()
    if silence == "unavailable":
        other.source.unavailable = {3: "silent"}
    else:
        other.offsets.errors[ORDERS] = NO_LEADER
    sync.sync()
    assert sync.target.held == {}


def test_sources_that_share_no_topic_do_not_wait_for_each_other():
    silent = Groups(g=at(20))
    silent.silent = True
    sync = merged(Offsets(50, copy=TopicPartition("else", 0)), silent)
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}


def test_a_group_whose_place_on_the_target_could_not_be_read_is_left_out():
    target = Groups(g=at(2000, where=COPY))
    target.positions = lambda _: {}
    assert a_sync(Offsets(50), Groups(g=at(10)), target).plan().commits == ()


def test_a_group_that_no_coordinator_lists_is_new_only_if_all_of_them_have_told():
    target = Groups()
    target.unavailable = {2: "broker 2 gave no answer"}
    assert a_sync(Offsets(50), Groups(g=at(10)), target).plan().commits == ()
    target.unavailable = {}
    assert len(a_sync(Offsets(50), Groups(g=at(10)), target).plan().commits) == 1


def test_a_position_with_a_commit_under_way_is_not_set():
    target = Groups(g={COPY: Committed(UNSTABLE)})
    assert a_sync(Offsets(50), Groups(g=at(10)), target).plan().commits == ()


@pytest.mark.parametrize("silence", ["unavailable", "errors"])
def test_what_a_source_found_while_part_of_it_was_silent_is_not_kept_for_others(silence):
    sync = merged(Offsets(50, shift=500), Groups(g=at(20)))
    (other,) = sync.siblings()
    held = other.source.held.pop("g")  # its coordinator does not answer
    quiet = other.source.unavailable if silence == "unavailable" else other.offsets.errors
    quiet[ORDERS] = NO_LEADER
    other.translated()
    quiet.clear()  # it is back, and what was found without it must not count
    other.source.held["g"] = held
    sync.sync()
    assert sync.target.held == {"g": at(520, where=COPY)}


def test_while_it_is_not_known_where_another_source_stands_nothing_is_committed():
    theirs = Offsets(50, shift=500)
    sync = merged(theirs, Groups())
    lost = Anchor("C->B", "orders", 0, COPY.topic, None, None)
    theirs.look = lambda: theirs.known.anchors.update({ORDERS: lost}) or theirs.known
    sync.sync()
    assert sync.target.held == {}


def test_answers_of_a_topic_that_was_recreated_are_not_kept():
    offsets = Offsets(50)
    sync = a_sync(offsets, Groups(g=at(10)))
    sync.plan()
    offsets.errors[ORDERS] = ClusterRejected("orders is not the topic that was copied")
    offsets.translate = lambda _, **__: {}
    assert sync.plan().commits == ()


def test_offsets_at_the_source_that_cannot_be_stored_keep_no_group_from_being_set():
    def remember(_):
        raise ClusterRejected("appending to isthmus-offsets.A.internal: the record is too large")

    sync = a_sync(Offsets(50), Groups(g=at(10)), remember=remember)
    with pytest.raises(ClusterRejected, match="too large"):
        sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}


def test_an_offset_that_a_transaction_may_change_is_not_stored_over_the_one_before():
    """After a loss of the source it is all that is known of where the group had read to."""
    source = Groups(g={**at(10), LATER: Committed(5)})
    sync = a_sync(offsets := Offsets(50), source, remember=offsets.known.learn)
    sync.sync()
    sync.source.held["g"] = {ORDERS: Committed(UNSTABLE), LATER: Committed(6)}
    sync.sync()
    assert sync.offsets.known.groups["g"].positions == (("orders", 0, 10), ("orders", 1, 6))
    sync.source.held["g"] = {**at(30), LATER: Committed(6)}
    sync.sync()
    assert sync.offsets.known.groups["g"].positions == (("orders", 0, 30), ("orders", 1, 6))


@pytest.mark.parametrize("stored", [(), (("orders", 0, UNSTABLE),)], ids=["nothing", "as before"])
def test_of_a_group_whose_first_offset_is_in_an_open_transaction_none_is_stored(stored):
    """Also where a former release has stored it."""
    source = Groups(g={ORDERS: Committed(UNSTABLE), LATER: Committed(6)})
    sync = a_sync(offsets := Offsets(50), source, remember=offsets.known.learn)
    offsets.known.groups["g"] = GroupPositions("A->B", "g", stored)
    sync.sync()
    assert sync.offsets.known.groups["g"].positions == (("orders", 1, 6),)


def test_an_offset_that_a_transaction_may_change_is_named_and_set_once_it_has_ended():
    sync = a_sync(Offsets(50), Groups(g={ORDERS: Committed(UNSTABLE)}))
    found = sync.plan()
    assert (found.commits, found.waiting, found.problems) == ((), 0, ())
    assert found.undecided == (("g", ORDERS),)
    assert sync.offsets.looks == 1, "no anchor that may come changes this"
    assert sync.sync() == "1 groups, 0 updated; 1 offsets in open transactions"
    sync.source.held["g"] = at(10)
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1010, where=COPY)}


def test_while_a_transaction_with_the_offset_at_another_source_is_open_nothing_is_committed():
    sync = merged(Offsets(50, shift=500), Groups(g={ORDERS: Committed(UNSTABLE)}))
    sync.sync()
    assert sync.target.held == {}


class Opposite(Offsets):
    """The flow back: B's offset 1010 is the copy of A's client's 10, as far as it is copied."""

    def __init__(self, *copied):
        super().__init__(*copied, shift=-1000)
        self.known.anchors[COPY] = Anchor("B->A", *COPY, ORDERS.topic, 0, 0)
        self.asked = []

    def look(self):
        return self.known

    look_at_target = look

    def translate(self, expected, *, back=False, ahead=True):
        self.asked.append((back, dict(expected)))
        return {where: {o: self.back_to[o] for o in offsets} for where, offsets in expected.items()}


@pytest.mark.parametrize(
    ("back_to", "committed"),
    [(Answer(1004), at(1004, where=COPY)), (Answer(1044), at(1010, where=COPY)), (NOT_YET, {})],
)
def test_a_group_has_not_read_records_of_the_targets_clients_that_are_not_before_it(
    back_to, committed
):
    """Their copies stand behind its offset at the source, or it is not known where they stand."""
    opposite = Opposite(0)
    sync = a_sync(Offsets(50), Groups(g=at(10)), opposite=lambda: opposite)
    opposite.back_to = {10: back_to}
    sync.sync()
    assert sync.target.held.get("g", {}) == committed
    assert opposite.asked == [(True, {COPY: {10}})]


ELSEWHERE = (
    "the partition also has records of others, and the group's position among those is unknown"
)


def test_a_group_whose_place_among_the_targets_own_records_is_unknown_is_named_and_stays_active():
    """The flow back has not copied that far: once it has, the next round moves the group."""
    opposite = Opposite(0)
    sync = a_sync(Offsets(50), Groups(g=at(10)), opposite=lambda: opposite)
    opposite.back_to = {10: NOT_YET}
    assert sync.plan().unknown == (LeaveOffset("g", COPY, ELSEWHERE),)
    assert sync.sync() == f"1 groups, 0 updated; 1 waiting, g in A.orders-0 because {ELSEWHERE}"
    opposite.back_to = {10: Answer(1004)}
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1004, where=COPY)}


@pytest.mark.parametrize("silence", ["look", "partition"])
def test_while_the_flow_back_is_silent_the_round_says_so_and_groups_stay_active(silence):
    opposite = Opposite(0)
    sync = a_sync(Offsets(50), Groups(g=at(10)), opposite=lambda: opposite)
    known, opposite.back_to = opposite.look, {10: Answer(1004)}
    translate = opposite.translate

    def fail():
        raise ClusterUnavailable("broker 2 gave no answer")

    if silence == "look":
        opposite.look = fail
    else:
        opposite.errors[COPY] = ClusterUnavailable("broker 2 gave no answer")
        opposite.translate = lambda _, **__: {}
    with pytest.raises(ClusterUnavailable, match="not read: broker 2 gave no answer"):
        sync.sync()
    assert sync.target.held == {}
    opposite.look, opposite.translate = known, translate
    opposite.errors.clear()
    assert sync.sync() == "1 groups, 1 updated"
    assert sync.target.held == {"g": at(1004, where=COPY)}


def test_a_group_whose_place_the_flow_back_may_not_be_asked_is_named_and_holds_up_no_other():
    """No later round changes that: the round does not fail, and others that stand still rest."""
    opposite = Opposite(0)
    sync = a_sync(
        Offsets(50), Groups(g=at(10), h={LATER: Committed(10)}), opposite=lambda: opposite
    )
    sync.offsets.known.learn([Anchor("A->B", *LATER, COPY.topic, 50, 1050)])
    opposite.errors[COPY] = ClusterRejected("not authorized to describe topic A.orders")
    opposite.translate = lambda _, **__: {}
    why = f"{ELSEWHERE}: not authorized to describe topic A.orders"
    found = sync.plan()
    assert (found.unread, found.unknown) == ("", (LeaveOffset("g", COPY, why),))
    said = f"1 waiting, g in A.orders-0 because {why}"
    assert sync.sync() == f"2 groups, 1 updated; {said}"
    assert sync.target.held == {"h": {LATER_COPY: Committed(1010)}}
    sync.target.held["h"] = {LATER_COPY: Committed(3)}  # somebody has taken it back there
    assert sync.sync() == f"2 groups, 0 updated; {said}"
    assert sync.target.held == {"h": {LATER_COPY: Committed(3)}}


def test_a_flow_back_that_is_gone_says_nothing_of_groups_before_the_first_record_of_others():
    """A failover: the state of the flow back is on the lost source."""
    opposite = Opposite(0)
    sync = a_sync(Offsets(50), Groups(g=at(10)), opposite=lambda: opposite)
    opposite.back_to = {10: NOT_YET}
    translated = sync.translated()
    assert sync.desired(translated, {COPY: 1009}).positions == {"g": {}}
    opposite.asked.clear()
    assert sync.desired(translated, {COPY: 1010}).positions == {"g": at(1010, where=COPY)}
    assert opposite.asked == []


def test_a_flow_back_between_other_topics_says_nothing_of_a_group():
    opposite = Opposite(0)
    sync = a_sync(Offsets(50), Groups(g=at(10)), opposite=lambda: opposite)
    opposite.known.anchors[COPY] = Anchor("B->A", *COPY, "B.A.orders", 0, 0)
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}
    assert opposite.asked == []


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_group_that_may_not_be_read_is_named_and_holds_up_no_other(side):
    sync = a_sync(Offsets(50), Groups(g=at(10), h=at(20)), Groups(g=at(3, where=COPY)))
    getattr(sync, side).unreadable = {"g": "reading its offsets: denied"}
    why = {
        "source": "its offsets on A are unknown: reading its offsets: denied",
        "target": "its offsets on the target could not be read: reading its offsets: denied",
    }[side]
    groups = 1 if side == "source" else 2
    line = f"{groups} groups, 1 updated; 1 unchanged, g because {why}"
    assert sync.sync(whole=False) == line
    assert sync.target.held == {"g": at(3, where=COPY), "h": at(1020, where=COPY)}
    assert LeaveGroup("g", why) in sync.plan().actions
    with pytest.raises(ClusterRejected, match="1 unchanged, g because its offsets on "):
        sync.sync(strict=True)


def test_a_round_that_could_not_read_a_group_is_not_a_good_one_after_it_has_set_the_others():
    """A failover would say that all groups were read then."""
    stored = []
    sync = a_sync(Offsets(50), Groups(g=at(10), h=at(20)), remember=stored.extend)
    sync.source.unreadable = {"g": "reading its offsets: denied"}
    with pytest.raises(ClusterRejected, match=r"^1 groups, 1 updated; 1 unchanged, g because its "):
        sync.sync()
    assert sync.target.held == {"h": at(1020, where=COPY)}
    assert [each.group for each in stored] == ["h"]
    sync.source.unreadable = {}
    assert sync.sync() == "2 groups, 1 updated"


def test_one_group_that_may_not_be_read_is_not_one_without_offsets():
    sync = a_sync(Offsets(50), Groups(g=at(10)))
    sync.source.unreadable = {"g": "reading its offsets: denied"}
    with pytest.raises(ClusterRejected, match="group g: its offsets on A are unknown: reading"):
        sync.translated_of("g")
    sync.source.held["h"] = at(20)
    assert [each.group for each in sync.translated_of("h")] == ["h"]


def test_what_another_source_may_not_be_read_of_is_no_position_of_a_merged_partition():
    """It may be the lowest: to go by the others would skip its records."""
    sync = merged(Offsets(50, shift=500), Groups(g=at(5), h=at(5)))
    sync.source.held["h"] = at(10)
    (other,) = sync.siblings()
    other.source.unreadable = {"g": "reading its offsets: denied"}
    sync.sync()
    assert set(sync.target.held) == {"h"}


def test_what_a_source_found_without_a_group_that_it_may_not_read_is_not_its_place_later():
    """The right was granted since; the group's place there is not known before the next round."""
    sync = merged(Offsets(50, shift=500), Groups(g=at(5)))
    (other,) = sync.siblings()
    other.source.unreadable = {"g": "reading its offsets: denied"}
    other.translated()
    other.source.unreadable = {}
    sync.sync()
    assert sync.target.held == {}
    other.translated()
    sync.sync()
    assert sync.target.held == {"g": at(505, where=COPY)}


def test_a_share_group_of_another_source_has_no_place_to_wait_for():
    sync = merged(Offsets(50, shift=500), Groups())
    (other,) = sync.siblings()
    other.source.listed = lambda: {"g": Group("g", kind="share")}
    other.source.positions = lambda _: {}
    sync.sync()
    assert sync.target.held == {"g": at(1010, where=COPY)}


def denied_orders() -> Offsets:
    """Return offsets of which those in ``ORDERS`` may not be translated."""
    offsets = Offsets(50)
    offsets.known.learn([Anchor("A->B", *LATER, COPY.topic, 50, 1050)])
    ask, look = offsets.translate, offsets.look

    def translate(wanted, **how):
        if ORDERS in wanted:
            offsets.errors[ORDERS] = ClusterRejected("not authorized to describe topic orders")
        return ask({w: its for w, its in wanted.items() if w != ORDERS}, **how)

    offsets.translate = translate
    offsets.look = lambda: offsets.errors.clear() or look()
    return offsets


def test_an_offset_that_may_not_be_translated_is_named_and_holds_up_no_other():
    """No later round changes that: the round does not fail."""
    sync = a_sync(denied_orders(), Groups(g=at(10), h={LATER: Committed(10)}))
    why = "orders-0 offset 10 was not translated: not authorized to describe topic orders"
    assert sync.sync() == f"2 groups, 1 updated; 1 not moved, g because {why}"
    assert sync.target.held == {"h": {LATER_COPY: Committed(1010)}}
    with pytest.raises(ClusterRejected, match=f"2 groups, 0 updated; 1 not moved, g because {why}"):
        sync.sync(strict=True)
    found = sync.plan()
    assert (found.unread, found.problems) == ("", (LeaveOffset("g", COPY, why),))


def test_nor_is_it_forgotten_while_others_wait_for_their_copies():
    groups = Groups(g=at(10), h={LATER: Committed(60)})
    sync = a_sync(denied_orders(), groups, flow=impatient(FLOW))
    with pytest.raises(ClusterRejected, match=r"1 not moved, g because .*; 1 offsets not copied"):
        sync.sync(strict=True)
