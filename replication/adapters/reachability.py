"""Asks clusters whether they answer: all of them at once, each at all of its addresses.

A client of librdkafka retries a refused connection until its request times out, and names one
cluster at a time. This takes as long as the slowest cluster, and a refusal is known at once.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.auth.client_settings import explained
from replication.adapters.wire.connection.broker_address import split_address
from replication.adapters.wire.connection.open_connection import open_connection
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Answer = tuple[str, str, str]  # cluster, address, why it does not answer; empty: it does

PATIENCE_S = 10.0  # as any other connection is given


def silent_clusters(
    clusters: Mapping[str, Mapping[str, str]], patience_s: float = PATIENCE_S
) -> dict[str, str]:
    """Return why each cluster does not answer, in order; those that do are left out.

    ``clusters`` are Java client properties by the cluster's name. One address that completes the
    handshake is enough. Raises ConfigError for stores that cannot be read.
    """
    configs = {name: to_kafka_python(properties) for name, properties in clusters.items()}
    answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    pending = {name: set(config["bootstrap_servers"]) for name, config in configs.items()}
    for name, addresses in pending.items():
        for address in addresses:
            # A daemon: resolving a name cannot be interrupted, and must not keep the process.
            asking = (name, address, configs[name], patience_s, answers)
            threading.Thread(target=_ask, args=asking, daemon=True).start()
    return _reasons(pending, answers, time.monotonic() + patience_s + 1)


def _reasons(
    pending: dict[str, set[str]], answers: queue.SimpleQueue[Answer], deadline: float
) -> dict[str, str]:
    """Collect answers until every cluster has given one, or all of its addresses have failed."""
    reasons: dict[str, list[str]] = {name: [] for name in pending}
    while pending:
        try:
            name, address, why = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if name not in pending:
            continue
        pending[name].discard(address)
        if why:
            reasons[name].append(why)
        else:
            del reasons[name]
        if not why or not pending[name]:
            del pending[name]
    for name, addresses in pending.items():
        reasons[name] += [f"connecting to {each}: no response in time" for each in addresses]
    return {name: "; ".join(sorted(found)) for name, found in reasons.items()}


def _ask(
    name: str,
    address: str,
    config: Mapping[str, Any],
    patience_s: float,
    answers: queue.SimpleQueue[Answer],
) -> None:
    try:
        with explained(config):
            open_connection(*split_address(address), config, patience_s).sock.close()
    except ReplicationError as error:
        answers.put((name, address, str(error)))
    except Exception as error:  # noqa: BLE001 - else nobody would learn of it
        answers.put((name, address, f"connecting to {address}: {type(error).__name__}: {error}"))
    else:
        answers.put((name, address, ""))
