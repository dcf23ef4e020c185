"""Clusters that do not answer are all named at once, each with its reason."""

from __future__ import annotations

import time

import pytest
from support.network.broken_servers import (
    a_closed_port,
    a_server,
    announces,
    closes,
    garbage,
    keeps_quiet,
)

from replication.adapters.reachability import silent_clusters


def client(*ports: int) -> dict[str, str]:
    return {"bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports)}


@pytest.fixture(scope="module")
def kinds():
    """Return a port of each kind of server that is no broker."""
    with (
        a_server(closes) as end,
        a_server(garbage) as noise,
        a_server(announces(2**31 - 1)) as huge,
    ):
        yield {"refuses": a_closed_port(), "closes": end, "garbage": noise, "2 GB": huge}


def test_all_clusters_that_do_not_answer_are_named_within_two_seconds(kinds):
    since = time.monotonic()
    silent = silent_clusters({name: client(port) for name, port in kinds.items()})
    assert time.monotonic() - since < 2
    assert list(silent) == list(kinds)
    assert all(reason.startswith("connecting to 127.0.0.1:") for reason in silent.values())
    assert "Connection refused" in silent["refuses"]
    assert any(word in silent["closes"] for word in ("reset", "closed", "disconnected"))
    for name in ("garbage", "2 GB"):
        assert "the answer is not Kafka's" in silent[name]
        assert silent[name].endswith("check port and security.protocol")


def test_each_address_of_a_cluster_is_named(kinds):
    silent = silent_clusters({"A": client(kinds["refuses"], kinds["garbage"])})
    assert all(f"127.0.0.1:{kinds[each]}: " in silent["A"] for each in ("refuses", "garbage"))


def test_one_that_keeps_quiet_delays_none_and_is_named_when_the_patience_is_over(kinds):
    with a_server(keeps_quiet) as quiet:
        since = time.monotonic()
        silent = silent_clusters({"A": client(quiet), "B": client(kinds["refuses"])}, 0.3)
        assert time.monotonic() - since < 2
    assert f"127.0.0.1:{quiet}" in silent["A"]
    assert list(silent) == ["A", "B"]
