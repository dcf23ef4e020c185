"""The client settings of each flow and cluster, placeholders unresolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from replication.config.file.providers import PREFIX as PROVIDERS
from replication.config.keys.client_keys import CONNECTION, CONSUMER_ONLY, KNOWN, PRODUCER_ONLY
from replication.config.keys.mm2_keys import CONNECTOR, DRIVER
from replication.config.keys.own_keys import FLOW, TOP
from replication.config.keys.precedence import (
    client_properties,
    cluster_properties,
    connector_properties,
    data_producer_properties,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.config.file.properties import Value
    from replication.config.sections.flows import Pair

Kind = Literal["consumer", "producer", "admin"]
CLIENT_PREFIXES = {  # of a flow's keys that set its clients' settings above all others
    "source_consumer": "source.consumer.",
    "source_admin": "source.admin.",
    "target_producer": "producer.override.",
    "target_admin": "target.admin.",
}
_NOT_BARE = CONNECTOR.keys() | DRIVER.keys() | FLOW.keys() | TOP.keys() | CONNECTION


def flow_clients(
    props: Mapping[str, Value], aliases: Collection[str], flow: Pair
) -> dict[str, dict[str, Value]]:
    """Return the settings of the four clients of a flow, by their names in ``FlowClients``."""
    connector = connector_properties(props, aliases, flow)
    found: dict[tuple[str, Kind], dict[str, Value]] = {
        ("source", "consumer"): client_properties(connector, "source", "consumer"),
        ("source", "admin"): client_properties(connector, "source", "admin"),
        ("target", "producer"): data_producer_properties(props, aliases, flow),
        ("target", "admin"): client_properties(connector, "target", "admin"),
    }
    return {
        f"{side}_{kind}": {**_everywhere(props, kind), **_providers(props), **settings}
        for (side, kind), settings in _with_defaults_last(found, props).items()
    }


def cluster_client(
    props: Mapping[str, Value], aliases: Collection[str], alias: str
) -> dict[str, Value]:
    """Return the settings of an admin client for one cluster, outside any flow."""
    own = cluster_properties(props, aliases, alias)
    admin = {
        key.removeprefix("admin."): value for key, value in own.items() if key.startswith("admin.")
    }
    connection = {key: value for key, value in own.items() if key in CONNECTION}
    return {**_everywhere(props, "admin"), **_providers(props), **connection, **admin}


def _with_defaults_last(
    found: dict[tuple[str, Kind], dict[str, Value]], props: Mapping[str, Value]
) -> dict[tuple[str, Kind], dict[str, Value]]:
    """Drop MirrorMaker 2's own defaults where a bare top-level key of the dialect is set."""
    for (_, kind), settings in found.items():
        for name in _everywhere(props, kind):
            if name in settings and not settings[name].line and name != "enable.auto.commit":
                del settings[name]
    return found


def _everywhere(props: Mapping[str, Value], kind: Kind) -> dict[str, Value]:
    """Return what the dialect lets apply to all clusters: ``max.poll.records``, ``producer.acks``.

    MirrorMaker 2 reads neither, so everything that it does read goes before these.
    """
    others = {"consumer": PRODUCER_ONLY, "producer": CONSUMER_ONLY}.get(
        kind, PRODUCER_ONLY | CONSUMER_ONLY
    )
    bare = {
        key: value
        for key, value in props.items()
        if key in KNOWN and key not in _NOT_BARE and key not in others
    }
    return {
        **bare,
        **{
            key.removeprefix(f"{kind}."): value
            for key, value in props.items()
            if key.startswith(f"{kind}.") and key not in CONNECTOR
        },
    }


def _providers(props: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in props.items() if key.startswith(PROVIDERS)}
