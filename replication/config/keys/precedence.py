"""MirrorMaker 2's precedence of settings, as its dedicated mode applies it, quirks included.

Pure: every function takes the file's properties and returns those that one component of
MirrorMaker 2 would see. Values are passed on as they are, with the line they came from;
provider expressions stay unresolved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from replication.config.file.properties import Value
from replication.config.keys.client_keys import KINDS
from replication.config.keys.connection_keys import CONNECTION
from replication.config.keys.mm2_keys import CONNECTOR, WORKER_FROM_TOP
from replication.config.keys.own_keys import CONNECT_TRANSFORMS, TOPIC_CONFIG, TRANSFORM

Properties = Mapping[str, Value]

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_FREE_NAMES = (
    "replication.policy", "config.providers", TOPIC_CONFIG, TRANSFORM, *CONNECT_TRANSFORMS,
)  # fmt: skip
_DRIVER_ONLY = ("name", "connector.class")
_CLASSES = {
    "source": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "checkpoint": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "heartbeat": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
}


def owner(key: str, aliases: Iterable[str]) -> str | None:
    """Return the cluster that ``key`` belongs to: of ``us`` and ``us.west`` the longest."""
    owners = [alias for alias in aliases if key.startswith(f"{alias}.")]
    return max(owners, key=len, default=None)


def cluster_properties(props: Properties, aliases: Collection[str], alias: str) -> dict[str, Value]:
    """Return the settings of one cluster, its connection names inherited by its clients."""
    start = len(alias) + 1
    result = {
        key[start:]: value
        for key, value in props.items()
        if "->" not in key and owner(key, aliases) == alias
    }
    for name in sorted(CONNECTION & result.keys()):
        for kind in KINDS:
            result.setdefault(f"{kind}.{name}", result[name])
    for name in sorted(CONNECTION & props.keys()):
        for kind in KINDS:
            result.setdefault(f"{kind}.{name}", props[name])
        result.setdefault(name, props[name])
    return result


def worker_properties(
    props: Properties, aliases: Collection[str], source: str, target: str
) -> dict[str, Value]:
    """Return what the Connect worker of ``source->target`` sees; it lives on the target."""
    defaults = {
        "client.id": f"{source}->{target}",
        "group.id": f"{source}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "status.storage.topic": f"mm2-status.{source}.internal",
        "config.storage.topic": f"mm2-configs.{source}.internal",
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
    }
    return {
        **{key: Value(text) for key, text in defaults.items()},
        **cluster_properties(props, aliases, target),
        **_starting(props, WORKER_FROM_TOP),
        **_starting(props, ("config.providers",)),
    }


def connector_properties(
    props: Properties,
    aliases: Collection[str],
    flow: tuple[str, str],
    *,
    connector: str = "source",
    declared: Collection[str] = CONNECTOR.keys() | CONNECTION,
) -> dict[str, Value]:
    """Return what the connectors of a flow see: flow over clusters over declared top-level keys.

    ``declared`` are the names that a connector takes from the top level; others are dropped.
    """
    source, target = flow
    top = {key: value for key, value in props.items() if key in declared}
    return {
        **_fill_ins(flow, _CLASSES[connector]),
        **{key: value for key, value in top.items() if key not in _DRIVER_ONLY},
        **_starting(props, _FREE_NAMES),
        **_sided("target", cluster_properties(props, aliases, target)),
        **_sided("source", cluster_properties(props, aliases, source)),
        **_stripped(props, f"{source}->{target}."),
    }


def _fill_ins(flow: tuple[str, str], connector: str) -> dict[str, Value]:
    """Return what the driver adds where nothing is set."""
    filled = {
        "name": connector.rpartition(".")[2],
        "connector.class": connector,
        "source.cluster.alias": flow[0],
        "target.cluster.alias": flow[1],
        "enabled": "false",
    }
    return {key: Value(text) for key, text in filled.items()}


def client_properties(connector: Properties, side: str, kind: str) -> dict[str, Value]:
    """Return the settings of a client that a connector makes.

    ``side`` is source or target, ``kind`` is consumer, producer or admin. A cluster's own
    ``A.consumer.x`` beats the flow's ``A->B.consumer.x``; ``A->B.source.consumer.x`` beats both.
    """
    cluster = _stripped(connector, f"{side}.cluster.")
    result = {
        **{key: value for key, value in cluster.items() if key in CONNECTION},
        **_stripped(connector, f"{kind}."),
        **_stripped(connector, f"{side}.{kind}."),
    }
    if kind == "consumer":
        result.setdefault("auto.offset.reset", Value("earliest"))
        result["enable.auto.commit"] = Value("false")
    return result


def data_producer_properties(
    props: Properties, aliases: Collection[str], flow: tuple[str, str]
) -> dict[str, Value]:
    """Return the settings of the producer that writes the copies.

    ``A->B.producer.override.x`` overrides ``B.producer.x``; ``A->B.producer.x`` is not read.
    """
    source, target = flow
    return {
        **_stripped(cluster_properties(props, aliases, target), "producer."),
        **_stripped(props, f"{source}->{target}.producer.override."),
    }


def client_id(connector: Properties, role: str, own: str = "") -> str:
    """Return the client id of a client that a connector makes for ``role``."""
    name = "->".join(connector[f"{side}.cluster.alias"].text for side in ("source", "target"))
    prefix = f"{own}|" if own else ""
    return f"{prefix}{name}|{connector['name'].text}|{role}"


def _sided(side: str, cluster: Properties) -> dict[str, Value]:
    return {
        f"{side}.{key}" if key.startswith(KINDS) else f"{side}.cluster.{key}": value
        for key, value in cluster.items()
    }


def _stripped(props: Properties, prefix: str) -> dict[str, Value]:
    return {
        key.removeprefix(prefix): value for key, value in props.items() if key.startswith(prefix)
    }


def _starting(props: Properties, prefixes: tuple[str, ...]) -> dict[str, Value]:
    return {key: value for key, value in props.items() if key.startswith(prefixes)}
