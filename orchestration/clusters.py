"""Clients of the clusters of a configuration, made once a process and kept.

Making one costs threads, a TLS handshake and a login; a sensor that did so every tick would be
the busiest client of a quiet cluster. The Kafka libraries are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from orchestration.observe import Ends, Store
    from replication.config.model import Config, Flow

    Properties = tuple[tuple[str, str], ...]


class KafkaClusters:
    """The real clusters; implements ``observe.Clusters``."""

    def __init__(self) -> None:
        self._stores: dict[Properties, Store] = {}
        self._sources: dict[Properties, Ends] = {}

    def store(self, flow: Flow) -> Store:
        """Return the store on the flow's target."""
        from replication.adapters.client_config import to_librdkafka  # noqa: PLC0415 - see module
        from replication.adapters.state_store import StateStore  # noqa: PLC0415 - see module

        key = _key(flow.clients.target_admin)
        if key not in self._stores:
            client = to_librdkafka(flow.clients.target_admin)
            self._stores[key] = StateStore(client, flow.state_replication_factor)
        return self._stores[key]

    def source(self, flow: Flow) -> Ends:
        """Return the admin client of the flow's source."""
        from replication.adapters.client_config import to_librdkafka  # noqa: PLC0415 - see module
        from replication.adapters.kafka_admin import KafkaAdmin  # noqa: PLC0415 - see module

        key = _key(flow.clients.source_admin)
        if key not in self._sources:
            self._sources[key] = KafkaAdmin(to_librdkafka(flow.clients.source_admin))
        return self._sources[key]


def _key(properties: Mapping[str, str]) -> Properties:
    return tuple(sorted(properties.items()))


def read_config(file: Path) -> Config:
    """Return the checked configuration. Raises ConfigError with all problems at once."""
    from replication.config.load import load_config  # noqa: PLC0415 - pydantic, on first use

    return load_config(file).config
