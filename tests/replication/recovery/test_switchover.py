"""Options and steps of a switchover, and which writes it denies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.errors import ConfigError
from replication.recovery.procedure import RUNNING
from replication.recovery.switchover import (
    SwitchoverOptions,
    denials,
    denied_topics,
    switchover_steps,
    with_denied,
)
from replication.state import Operation


def names(**options) -> list[str]:
    return [e.name for e in switchover_steps("A->B", "A", "B", SwitchoverOptions(**options))]


def test_what_is_not_asked_for_is_no_step():
    assert names(tail=0) == [
        "check",
        "wait for producers",
        "drain",
        "stop",
        "prove positions",
        "set groups",
        "open target",
    ]


def test_denied_writes_are_taken_back_after_the_target_is_open():
    steps = names(deny_writes=True)
    assert steps.index("deny writes") < steps.index("wait for producers")
    assert steps[-2:] == ["open target", "allow writes"]


def test_every_step_says_what_it_does_and_how_to_go_back():
    steps = switchover_steps("A->B", "A", "B", SwitchoverOptions(deny_writes=True))
    assert all(each.does and "--undo" in each.back for each in steps)


def test_an_operation_holds_the_options_that_it_was_begun_with():
    left = frozenset({"g", "a,b"})
    options = SwitchoverOptions(60.5, 1.5, True, 0, left)  # noqa: FBT003 - as the command makes them
    operation = Operation("A->B", "op", "switchover", RUNNING, options=options.stored())
    parsed = Operation.parse({"flow": "A->B", "id": "op"}, {"options": operation.options})
    assert SwitchoverOptions.of(parsed) == options
    older = {name: held for name, held in operation.options.items() if name != "leave"}
    assert SwitchoverOptions.of(replace(parsed, options=older)).leave == frozenset()


def test_groups_may_be_left_by_name_or_all():
    some, every = (SwitchoverOptions(leave=frozenset({each})) for each in ("g", "*"))
    assert [some.may_leave("g"), some.may_leave("h"), every.may_leave("h")] == [True, False, True]


@pytest.mark.parametrize(
    "options", [{"quiet_s": 0}, {"tail": -1}, {"timeout_s": 5, "quiet_s": 5}], ids=str
)
def test_options_that_cannot_succeed_are_refused(options):
    with pytest.raises(ConfigError, match="--quiet"):
        SwitchoverOptions(**options)


def test_the_topics_that_are_denied_are_in_the_operations_options():
    options = with_denied({"tail": "3"}, {"b", "a.c"})
    assert denied_topics(options) == {"a.c", "b"}
    assert options["tail"] == "3"
    assert denied_topics(with_denied(options, ())) == frozenset()


def test_a_denial_binds_everybody_on_one_topic_alone():
    (acl,) = denials(["orders"])
    assert (acl.principal, acl.host, acl.operation, acl.permission) == (
        "User:*",
        "*",
        "WRITE",
        "deny",
    )
    assert acl.resource == ("topic", "orders", "literal")
