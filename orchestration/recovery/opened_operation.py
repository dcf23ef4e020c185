"""Connects an operation on a flow with the clusters, and closes the connections after it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestration.flows.observation.clients import ClusterClients
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

Kind = TypeVar("Kind", bound=FlowOperation)


@contextmanager
def opened(
    kind: Callable[..., Kind],
    flow: Flow,
    config: Config,
    clusters: ClusterClients,
    say: Callable[[str], None],
) -> Iterator[Kind]:
    """Give a flow's failover or switchover; its connections are closed afterwards.

    ``kind`` is its class, or a partial of it with the options that it begins with.
    """
    from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - on first use
    from replication.adapters.group_syncs import opened_sync  # noqa: PLC0415 - on first use
    from replication.adapters.topics.state_store import StateStore  # noqa: PLC0415 - on first use

    store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
    operator = Operator(flow, store, say)
    try:
        with opened_sync(flow, config) as (sync, reader):
            yield kind(flow, config, clusters, operator, reader, sync)
    finally:
        operator.close()
        store.close()
