"""Which ACLs Isthmus requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.settings.configs import a_config, a_flow

from replication.client.acl_values import Resource
from replication.planning.required_acls import needed, resources
from replication.settings.mm2_settings import GroupSettings, Heartbeats, Mm2, OffsetSyncs
from replication.settings.naming_settings import (
    MappedName,
    Naming,
    OwnPolicyClass,
    RenameRule,
    Selection,
)
from replication.settings.topic_settings import AclSync, ConfigSync, TopicCreation
from replication.settings.transform_settings import DEAD_LETTER, SettingText, TopicTransform

if TYPE_CHECKING:
    from replication.settings.flow_settings import Flow

STATE = {"READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS"}
QUIET = Mm2(heartbeats=Heartbeats(enabled=False))


def required(**sections: object) -> dict[str, set[str]]:
    """Return the operations by ``cluster: resource``."""
    ready = {"selection": Selection(topics=("orders",), heartbeats=False), "mm2": QUIET}
    return rights_of(a_flow().model_copy(update={**ready, **sections}))


def rights_of(*flows: Flow) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in needed(a_config(*flows)):
        found.setdefault(f"{each.cluster}: {each.resource}", set()).update(each.operations)
    return found


def test_a_source_is_only_read():
    changing = {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"}
    found = required()
    assert found["A: topic orders"] == {"READ", "DESCRIBE_CONFIGS"}
    assert found["A: topic isthmus-producers.internal"] == {"READ"}
    assert found["A: topic isthmus-anchors.*"] == {"READ"}  # where the registry has lost entries
    assert not any(changing & each for name, each in found.items() if name.startswith("A:"))


def test_on_the_target_copies_own_state_and_the_transactional_id():
    found = required(acls=AclSync(enabled=False))
    assert {name: each for name, each in found.items() if name.startswith("B:")} == {
        "B: topic A.*": {"READ", "WRITE", "CREATE", "ALTER", "ALTER_CONFIGS"},
        "B: topic isthmus-anchors.A.internal": STATE,
        "B: topic isthmus-offsets.A.internal": STATE,
        "B: topic isthmus-status.A.internal": STATE,
        "B: topic isthmus-producers.internal": STATE,
        "B: topic isthmus-probe.internal": STATE,
        "B: topic A.checkpoints.internal": {"READ", "WRITE", "CREATE"},
        "B: transactional id isthmus.A->B*": {"WRITE"},
        "B: cluster kafka-cluster": {"DESCRIBE_CONFIGS"},
        "B: group isthmus-*": {"DESCRIBE"},
    }


def test_what_is_switched_off_needs_no_right():
    without = required(
        creation=TopicCreation(enabled=False),
        configs=ConfigSync(enabled=False),
        acls=AclSync(enabled=False),
    )
    assert without["B: topic A.*"] == {"READ", "WRITE", "DESCRIBE_CONFIGS"}
    assert not any("cluster" in each for each in without)


def test_dead_letters_of_a_transform_need_their_topic():
    where = SettingText("true", "f:1: k")
    letters = TopicTransform("orders", where=where, on_error=DEAD_LETTER)
    topic = "B: topic isthmus-dead-letters.A.internal"
    assert required(transforms=(letters,))[topic] == STATE
    assert topic not in required(transforms=(TopicTransform("orders", where=where),))


def test_rights_and_groups_are_asked_for_when_they_are_carried_over():
    chosen = Selection(topics=("orders",), groups=("bill-.*",), heartbeats=False)
    found = required(groups=GroupSettings(sync=True), selection=chosen)
    assert found["A: cluster kafka-cluster"] == {"DESCRIBE"}
    assert found["B: cluster kafka-cluster"] == {"ALTER", "DESCRIBE_CONFIGS"}
    assert found["A: group bill-*"] == {"DESCRIBE"}
    assert found["B: group bill-*"] == {"READ"}
    for cluster in "AB":  # groups whose coordinator is away look like none
        assert found[f"{cluster}: topic __consumer_offsets"] == {"DESCRIBE"}


def test_a_source_is_written_to_only_if_the_file_asks_for_it():
    syncs = Mm2(syncs=OffsetSyncs(enabled=True), heartbeats=Heartbeats(enabled=False, back=True))
    found = required(mm2=syncs)
    assert found["A: topic mm2-offset-syncs.B.internal"] == {"READ", "WRITE", "CREATE"}
    assert found["A: topic heartbeats"] == {"READ", "WRITE", "CREATE"}


OWN = """
from replication.naming import NamingPolicy

class Pulses(NamingPolicy):
    def format_remote_topic(self, source_cluster, topic):
        return f"{source_cluster}-{topic}"

    def topic_source(self, topic):
        return None

    def upstream_topic(self, topic):
        return None

    def heartbeats_topic(self):
        return "pulses"
"""


def test_heartbeats_are_where_a_policy_of_ones_own_says(tmp_path):
    (tmp_path / "pulsing.py").write_text(OWN)
    own = OwnPolicyClass(written="python:pulsing:Pulses", folder=str(tmp_path), settings={})
    found = required(
        naming=Naming(kind="own", own=own),
        selection=Selection(topics=("orders",)),
        mm2=Mm2(heartbeats=Heartbeats(back=True)),
    )
    assert found["A: topic pulses"] == {"READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS"}
    assert found["B: topic pulses"] == {"READ", "WRITE", "CREATE"}
    assert not any("heartbeats" in each for each in found)


def test_with_an_application_a_flow_each_may_read_what_the_others_call_their_topics():
    flows = a_flow("A", "T"), a_flow("B", "T"), a_flow("A", "B")
    for application, others in (
        ("per-target", set()),
        ("per-flow", {"isthmus-anchors.B.internal", "isthmus-status.B.internal"}),
    ):
        every = needed(a_config(*flows, application=application))
        mine = [each for each in every if (each.flow, each.cluster) == ("A->T", "T")]
        of_others = [each for each in mine if ".B." in each.resource.name]
        assert {each.resource.name for each in of_others} == others
        assert {each.operations for each in of_others} <= {("READ",)}


def test_heartbeats_that_come_from_further_away_are_copied_too():
    chain = [a_flow("C", "A", ("c",)), a_flow("A", "B", ("a",))]
    found = rights_of(*chain)
    assert found["A: topic C.heartbeats"] >= {"READ", "DESCRIBE_CONFIGS"}
    kept = [each.model_copy(update={"naming": Naming(kind="identity")}) for each in chain]
    assert rights_of(*kept)["B: topic A.C.heartbeats"] >= {"WRITE", "CREATE"}


@pytest.mark.parametrize(
    ("naming", "copies"),
    [
        (Naming(kind="identity"), {"B: topic orders"}),
        (
            Naming(mapped=(MappedName("A", "orders", "sales"), MappedName("C", "x", "y"))),
            {"B: topic sales", "B: topic A.*"},
        ),
        (
            Naming(
                kind="rename", rename=RenameRule(pattern="(.+)", replacement="from-${source}-$1")
            ),
            {"B: topic orders", "B: topic from-A-*"},
        ),
    ],
)
def test_copies_are_covered_by_what_they_are_called(naming, copies):
    found = required(naming=naming)
    assert {name for name, each in found.items() if "ALTER_CONFIGS" in each} == copies


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("orders", [Resource("topic", "orders")]),
        (r"orders\.v1", [Resource("topic", "orders.v1")]),
        ("orders.*", [Resource("topic", "orders", "prefixed")]),
        (r"fin-[a-z]+", [Resource("topic", "fin-", "prefixed")]),
        (r"orders\.?x", [Resource("topic", "orders", "prefixed")]),
        ("ab?c", [Resource("topic", "a", "prefixed")]),
        ("a|b.*", [Resource("topic", "a"), Resource("topic", "b", "prefixed")]),
        ("x(a|b)", [Resource("topic", "x", "prefixed")]),
        (".*", [Resource("topic", "*")]),
        ("(a|b).*", [Resource("topic", "*")]),
    ],
)
def test_a_pattern_is_covered_by_as_few_names_as_rights_can_tell(pattern, covered):
    assert list(resources([pattern])) == covered
