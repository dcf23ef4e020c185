"""A topic with another name on the target than it was copied under: it waits, then goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.flows.copier_flows import WAIT_S, Flow, feeding, kill, start_unit
from support.records import kafka_records
from support.settings.configs import a_flow

from replication.adapters.offset_reader import OffsetReader
from replication.model import Mode, NameChange, PartitionPlan, TopicPartition
from replication.settings.flow_settings import FlowClients

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    """Return a flow whose topic exists on the target under its own name and a new one."""
    topic = topic_name("renamed")
    kafka_records.create_topic(source_cluster.bootstrap_servers, topic, 2)
    for name in (topic, f"new-{topic}"):
        kafka_records.create_topic(target_cluster.bootstrap_servers, name, 2)
    return Flow(source_cluster, target_cluster, {topic: 2})


def names(flow: Flow) -> tuple[str, str]:
    (topic,) = flow.topics
    return topic, f"new-{topic}"


def feed(flow: Flow, count: int, seed: int = 0) -> None:
    records = kafka_records.some_records(count, 2, seed=seed)
    kafka_records.produce(flow.here, names(flow)[0], records)


def plans(flow: Flow, choice: str, mode: str = Mode.APPEND) -> tuple[PartitionPlan, ...]:
    """Return the plans of a driver whose file gives the topic its new name."""
    change = NameChange(*names(flow), choice)
    return tuple(
        PartitionPlan(each, each._replace(topic=change.in_use), name_change=change, mode=mode)
        for each in flow.partitions
    )


def reader_of(flow: Flow) -> OffsetReader:
    here, there = {"bootstrap.servers": flow.here}, {"bootstrap.servers": flow.to}
    clients = FlowClients(
        source_consumer=here, source_admin=here, target_producer=there, target_admin=there
    )
    return OffsetReader(a_flow(flow.alias, "B").model_copy(update={"clients": clients}))


def contents(bootstrap: str, topic: str) -> dict[int, list]:
    found: dict[int, list] = {0: [], 1: []}
    for each in kafka_records.consume_all(bootstrap, topic, "read_committed"):
        found[each.partition].append(each.content)
    return found


def after(all_of_it: dict[int, list], positions: dict[int, int]) -> dict[int, list]:
    return {number: each[positions[number] :] for number, each in all_of_it.items()}


def positions(flow: Flow) -> dict[int, int]:
    return {where.partition: each.source or 0 for where, each in flow.anchors().items()}


def test_nothing_is_copied_until_somebody_chooses_and_both_names_are_told(flow):
    feed(flow, 100)
    flow.copy_all()
    before = contents(flow.to, names(flow)[0])
    feed(flow, 20, seed=1)
    for generation in (2, 3):
        waiting = flow.spec(generation, partitions=plans(flow, ""))
        assert flow.settle(waiting).not_running == 2
        old, new = names(flow)
        assert {(e.state, e.reason, e.target_topic) for e in flow.anchors().values()} == {
            (
                "NAME_CHANGED",
                f"the topic was copied as {old}, and the file now names it {new}",
                old,
            )
        }
    assert contents(flow.to, old) == before
    assert contents(flow.to, new) == {0: [], 1: []}


def test_a_driver_that_does_not_know_of_the_change_copies_nothing_again(flow):
    feed(flow, 100)
    flow.copy_all()
    old, new = names(flow)
    unknowing = tuple(PartitionPlan(each, each._replace(topic=new)) for each in flow.partitions)
    assert flow.settle(flow.spec(2, partitions=unknowing)).not_running == 2
    assert contents(flow.to, new) == {0: [], 1: []}
    assert {(e.state, e.target_topic) for e in flow.anchors().values()} == {("NAME_CHANGED", old)}


def test_other_topics_of_the_unit_are_copied_while_one_waits(flow, topic_name):
    feed(flow, 100)
    flow.copy_all()
    other = topic_name("other")
    for servers in (flow.here, flow.to):
        kafka_records.create_topic(servers, other)
    kafka_records.produce(flow.here, other, kafka_records.some_records(30))
    there = TopicPartition(other, 0)
    spec = flow.spec(2, partitions=(*plans(flow, ""), PartitionPlan(there, there)))
    with flow.copying(spec) as reports:
        flow.wait_copied([there])
    assert reports[0].not_running == 2
    assert len(kafka_records.consume_all(flow.to, other)) == 30


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.TRANSACTIONAL])
def test_continue_goes_on_under_the_new_name_from_where_the_old_copy_ended(flow, mode):
    feed(flow, 100)
    flow.copy_all(partitions=tuple(replace(each, mode=mode) for each in flow.spec().partitions))
    ended = positions(flow)
    feed(flow, 20, seed=1)
    flow.copy_all(2, partitions=plans(flow, "continue", mode))
    feed(flow, 20, seed=2)
    moved = tuple(replace(each, name_change=None) for each in plans(flow, "continue", mode))
    flow.copy_all(3, partitions=moved)
    old, new = names(flow)
    expected = contents(flow.here, old)
    assert contents(flow.to, new) == after(expected, ended)
    assert {n: len(each) for n, each in contents(flow.to, old).items()} == ended
    assert {(e.target_topic, e.former) for e in flow.anchors().values()} == {(new, old)}


def test_reseed_copies_all_again_under_the_new_name(flow):
    feed(flow, 100)
    flow.copy_all()
    feed(flow, 20, seed=1)
    flow.copy_all(2, partitions=plans(flow, "reseed"), start="latest")
    old, new = names(flow)
    assert contents(flow.to, new) == contents(flow.here, old)
    assert sum(map(len, contents(flow.to, old).values())) == 100


def test_a_unit_that_was_killed_repeats_nothing_under_the_new_name(flow, tmp_path):
    """The anchor lags behind what was copied: the old copy is counted and ended first."""
    old, new = names(flow)
    with feeding(flow, 2000):
        process = start_unit(flow.spec(anchor_every_s=WAIT_S), tmp_path)
        flow.wait_for(lambda _: sum(map(len, contents(flow.to, old).values())) > 500, "copied")
        kill(process)
    assert not any(each.clean for each in flow.anchors().values())
    before = contents(flow.to, old)
    flow.settle(flow.spec(2, partitions=plans(flow, "")))
    waiting = flow.anchors().values()
    assert all(each.clean and each.state == "NAME_CHANGED" for each in waiting)
    assert contents(flow.to, old) == before
    flow.copy_all(3, partitions=plans(flow, "continue"))
    ended = {number: len(each) for number, each in contents(flow.to, old).items()}
    expected = contents(flow.here, old)
    assert sum(ended.values()) > 500
    assert contents(flow.to, new) == after(expected, ended)


def test_offsets_before_the_change_are_unknown_in_the_new_topic_and_later_ones_exact(flow):
    feed(flow, 100)
    flow.copy_all()
    ended = positions(flow)
    feed(flow, 20, seed=1)
    flow.copy_all(2, partitions=plans(flow, "continue"))
    reader = reader_of(flow)
    reader.look()
    where = flow.partitions[0]
    asked = [ended[0] - 1, ended[0], ended[0] + 3]
    found = reader.translate({where: asked})[where]
    back = reader.translate({where: [3]}, back=True)[where]
    reader.close()
    assert {offset: (each.offset, each.exact) for offset, each in found.items()} == {
        ended[0] - 1: (None, False),
        ended[0]: (0, True),
        ended[0] + 3: (3, True),
    }
    assert back[3].offset == ended[0] + 3
