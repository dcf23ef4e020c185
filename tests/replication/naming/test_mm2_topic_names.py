"""MirrorMaker 2's scenarios for its own topics: RP-01 to RP-04, MC-02, MC-05."""

import pytest
from support.settings.configs import a_flow

from replication.naming.internal_topics import InternalTopicNames
from replication.naming.policy import IdentityPolicy, PrefixPolicy, policy_for
from replication.settings.naming_settings import Naming

UNDERSCORES = InternalTopicNames(internal_separator="__")
DOTS = InternalTopicNames()


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("__consumer_offsets", True),
        (".hiddentopic", True),
        ("mm2-offsets.C.internal", True),
        ("mm2-offsets-C-internal", True),
        ("mm2-offsets_C_internal", False),
    ],
)
def test_rp_01_what_mirrormaker_2_takes_for_internal(topic, internal):
    assert DOTS.looks_internal(topic) is internal


def test_rp_02_the_separator_is_in_the_name_of_the_offset_syncs():
    assert UNDERSCORES.offset_syncs_topic("CLUSTER") == "mm2-offset-syncs__CLUSTER__internal"
    assert DOTS.offset_syncs_topic("CLUSTER") == "mm2-offset-syncs.CLUSTER.internal"


def test_rp_03_the_separator_is_in_the_name_of_the_checkpoints():
    assert UNDERSCORES.checkpoints_topic("CLUSTER") == "CLUSTER__checkpoints__internal"
    assert DOTS.checkpoints_topic("CLUSTER") == "CLUSTER.checkpoints.internal"


def test_rp_04_heartbeats_have_one_name():
    assert UNDERSCORES.heartbeats_topic() == DOTS.heartbeats_topic() == "heartbeats"


@pytest.mark.parametrize(
    ("topic", "holds_checkpoints"),
    [
        ("source1.checkpoints.internal", True),
        ("checkpoints.internal", False),
        (".checkpoints.internal", False),
        ("source1.checkpoints.internal.x", False),
        ("source1-checkpoints-internal", False),
    ],
)
def test_mc_02_mc_05_checkpoints_are_known_by_the_end_of_their_topics_name(
    topic, holds_checkpoints
):
    assert DOTS.is_checkpoints_topic(topic) is holds_checkpoints


@pytest.mark.parametrize("kind", ["prefix", "identity"])
def test_a_flows_policy_names_internal_topics_by_the_flows_settings(kind):
    naming = Naming(kind=kind, separator="__", internal_separator="__")
    policy = policy_for(a_flow().model_copy(update={"naming": naming}), ["A", "B"])
    assert isinstance(policy, PrefixPolicy | IdentityPolicy)
    assert policy.checkpoints_topic("A") == "A__checkpoints__internal"
