"""A name that exists nowhere is refused, with the names that are near."""

from __future__ import annotations

import pytest

from orchestration.flows.names import require_name
from replication.errors import ConfigError

TOPICS = ["orders", "orders-eu", "payments", "Stock", "users"]


def refusal(name: str | int, known: list) -> str:
    with pytest.raises(ConfigError) as refused:
        require_name("topic", name, known, "A->B")
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "known", "rest"),
    [
        pytest.param("ordes", TOPICS, "near: orders, orders-eu", id="a slip"),
        pytest.param("stock", TOPICS, "near: Stock", id="another case"),
        pytest.param("zzz", TOPICS, f"there is {', '.join(TOPICS)}", id="nothing is near"),
        pytest.param("ordes", ["a", "b"], "there is a, b", id="a few are listed"),
        pytest.param("x", [], "there is none", id="there is none"),
        pytest.param(
            "zzz", [f"t{n}" for n in range(12)],
            f"there is {', '.join(f't{n}' for n in range(10))} and 2 more", id="many",
        ),
        pytest.param(99, [0, 1], "there is 0, 1", id="a number"),
    ],
)  # fmt: skip
def test_a_name_that_exists_nowhere_is_refused_with_those_that_are_near(name, known, rest):
    assert refusal(name, known) == f"A->B: no topic {str(name)!r}; {rest}"


@pytest.mark.parametrize("name", ["orders", "Stock"])
def test_a_name_that_exists_is_taken(name):
    require_name("topic", name, TOPICS, "A->B")


def test_a_number_that_exists_is_taken():
    require_name("partition", 1, [0, 1], "A->B")
