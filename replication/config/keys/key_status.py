"""Judges each key of a file: used, without effect and why, or unknown and the nearest known key."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from replication.config.file import values
from replication.config.file.providers import PREFIX as PROVIDERS
from replication.config.keys import client_keys, mm2_keys, own_keys
from replication.config.keys.connection_keys import CONNECTION, refusal
from replication.config.keys.ignored_promises import is_unkept
from replication.config.keys.mm2_keys import Fate, KnownKey
from replication.config.keys.scopes import Scoped, split_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.config.file.findings import Notes
    from replication.config.file.properties import Value

UNKNOWN = "unknown key"
_PASSED_ON = (f"{PROVIDERS}.", "spark.conf.")  # any name may follow
_OF_A_POLICY = "replication.policy.config."  # of the operator's own, which knows what they mean
_CHECKED_WITH_VALUE = (own_keys.TOPIC_CONFIG, own_keys.TRANSFORM, *own_keys.CONNECT_TRANSFORMS)
_REST = ("listeners.https.", "rest.", "admin.listeners.https.")
_CLIENTS = tuple(f"{kind}." for kind in client_keys.KINDS)
_FLOW_CLIENTS = (
    *(f"{kind}.override." for kind in client_keys.KINDS),
    *(f"{side}.{kind}" for side in ("source", "target") for kind in ("cluster.", *_CLIENTS)),
    *_CLIENTS,
)
_CLIENT_PREFIXES = {"top": _CLIENTS, "cluster": _CLIENTS, "flow": _FLOW_CLIENTS}
_SLIPS = {
    "task.max": "tasks.max",
    "topic.blacklist": "topics.exclude",
    "topic.exclude": "topics.exclude",
    "sync.topics.configs.enabled": "sync.topic.configs.enabled",
    "emit.heartbeats": "emit.heartbeats.enabled",
    "emit.checkpoints": "emit.checkpoints.enabled",
    "enable": "enabled",
}

_TOP = mm2_keys.DRIVER | mm2_keys.CONNECTOR | own_keys.TOP | own_keys.FLOW | mm2_keys.TOPIC_CREATION
_FLOW = (
    mm2_keys.CONNECT_FLOW
    | mm2_keys.CONNECTOR
    | mm2_keys.TASK
    | own_keys.FLOW
    | mm2_keys.TOPIC_CREATION
)
_CLUSTER = mm2_keys.WORKER | mm2_keys.TOPIC_CREATION


def judge(value: Value, scoped: Scoped, props: Mapping[str, Value], notes: Notes) -> None:
    """Note what an operator should know of one key. Values are checked elsewhere.

    ``props``: the whole file, of which another key may override this one.
    """
    name = scoped.name
    if scoped.scope == "top" and name.startswith(_PASSED_ON):
        return
    if scoped.scope in ("top", "flow") and f"{name}.".startswith(_CHECKED_WITH_VALUE):
        return
    if scoped.scope in ("top", "flow") and name.startswith(_OF_A_POLICY):
        return
    if name in mm2_keys.REMOVED:
        notes.info(value.at, f"has no effect: {mm2_keys.REMOVED[name]}")
    elif (client := client_name(scoped)) is not None:
        _judge_client(client, value, scoped, props, notes)
    elif (known := lookup(scoped)) is not None:
        _judge_known(known, value, scoped, notes)
    elif name.startswith(_REST):
        notes.info(value.at, "has no effect: no REST server runs")
    else:
        _judge_unknown(value, scoped, notes)


def lookup(scoped: Scoped) -> KnownKey | None:
    """Return what is known of a key, by its scope; client settings are not among them."""
    name = scoped.name
    if scoped.scope in ("top", "flow") and name.startswith(own_keys.TRANSFORM):
        option = name.removeprefix(own_keys.TRANSFORM).rpartition("/")[2]
        return own_keys.TRANSFORM_OPTIONS.get(option)
    match scoped.scope:
        case "flow":
            return _FLOW.get(name)
        case "cluster":
            return _CLUSTER.get(name)
        case "top":
            return _TOP.get(name) or mm2_keys.WORKER.get(name) or mm2_keys.CONNECT_FLOW.get(name)
    return None


def nearest(key: str, aliases: Collection[str], count: int) -> list[str]:
    """Return the known keys that look most like an unknown one, the most alike first."""
    return _nearest(split_key(key, aliases), count)


def _nearest(scoped: Scoped, count: int) -> list[str]:
    slip = [_SLIPS[scoped.name]] if scoped.name in _SLIPS else []
    alike = _near(scoped.name, _names(scoped), count)
    found = (mm2_keys.RENAMED.get(each, each) for each in (*slip, *alike))
    return [f"{scoped.prefix}{each}" for each in dict.fromkeys(found)][:count]


def is_setting(key: str) -> bool:
    """Whether a key would have an effect at the top level, were no cluster called as it begins."""
    key = mm2_keys.RENAMED.get(key) or own_keys.SPELLINGS.get(key) or key
    if f"{key}.".startswith(_CHECKED_WITH_VALUE):
        rest = key.partition(".")[2]
        return rest not in CONNECTION and not rest.startswith(_CLIENTS)
    if f"{key}.".startswith((*_PASSED_ON, _OF_A_POLICY)):
        return True
    known = _TOP.get(key)
    declared = known is not None and known.fate is not Fate.NO_EFFECT
    return declared or client_name(Scoped("top", "", key)) is not None


def client_name(scoped: Scoped) -> str | None:
    """Return the client setting that a key sets, such as ``acks`` for ``A.producer.acks``."""
    name = scoped.name
    if _declared(scoped):
        return None
    for prefix in _CLIENT_PREFIXES.get(scoped.scope, ()):
        if name.startswith(prefix):
            return name[len(prefix) :]
    bare = {"top": client_keys.KNOWN, "cluster": CONNECTION}
    return name if name in bare.get(scoped.scope, ()) else None


def _declared(scoped: Scoped) -> bool:
    table = {"flow": _FLOW, "cluster": _CLUSTER, "top": _TOP}.get(scoped.scope, {})
    return scoped.name in table


def _judge_client(
    name: str, value: Value, scoped: Scoped, props: Mapping[str, Value], notes: Notes
) -> None:
    why = client_keys.WITHOUT_EFFECT.get(name)
    unkept = is_unkept(name, value.text)
    if (refused := refusal(name, value.text)) is not None:
        notes.doubt(value.at, f"is not supported: {refused}", "remove it")
    elif why is not None:
        notes.without_effect(value.at, why, unkept=unkept)
    elif name not in client_keys.KNOWN:
        near = _near(name, client_keys.KNOWN, 1)
        hint = f"was {near[0]} meant?" if near else ""
        notes.warn(value.at, "is not a known setting of Kafka's clients", hint)
    elif scoped.scope == "flow":
        _judge_flow_client(name, value, scoped, props, notes)
    elif scoped.scope == "top" and name not in CONNECTION:
        kind = "consumer" if name in client_keys.CONSUMER_ONLY else "admin"
        notes.warn(
            value.at,
            "applies to all clusters; MirrorMaker 2 does not read it at the top level",
            f"A.{kind}.{name}",
        )


def _judge_flow_client(
    name: str, value: Value, scoped: Scoped, props: Mapping[str, Value], notes: Notes
) -> None:
    """Report a flow's client setting that a cluster's overrides, or that no client reads."""
    kind = scoped.name.removesuffix(name)
    source, target = scoped.clusters
    if kind in ("consumer.", "admin."):
        stronger = f"{source}.{kind}{name}"
        fix = f"{scoped.prefix}source.{kind}{name} overrides both"
        inherited = (f"{source}.{name}", name) if name in CONNECTION else ()
        if winner := next((each for each in (stronger, *inherited) if each in props), None):
            notes.warn(value.at, f"is overridden by {winner}, as in MirrorMaker 2", fix)
        else:
            message = f"{stronger} overrides it where both are set, as in MirrorMaker 2"
            notes.info(value.at, message, fix)
    elif kind not in ("source.consumer.", "source.admin.", "target.admin.", "producer.override."):
        notes.warn(
            value.at,
            "is not used by the clients that copy, as in MirrorMaker 2",
            f"{scoped.prefix}producer.override.{name} or {target}.producer.{name}",
        )


def _judge_known(known: KnownKey, value: Value, scoped: Scoped, notes: Notes) -> None:
    unkept = is_unkept(scoped.name, value.text)
    if scoped.scope == "top" and scoped.name not in _TOP:
        why = known.why or "it is not read at the top level, as in MirrorMaker 2"
        ignored = unkept or known.fate is Fate.HONOURED
        notes.without_effect(value.at, why, unkept=ignored)
    elif known.fate is Fate.NO_EFFECT:
        notes.without_effect(value.at, known.why, unkept=unkept)
    elif known.fate is Fate.LATER:
        notes.warn(value.at, f"is accepted, but {known.why}")
    elif known.fate is Fate.REFUSED and not _is_default_class(value.text):
        notes.doubt(value.at, f"is not supported: {known.why}", "remove it")


def _is_default_class(text: str) -> bool:
    names = set(values.items(text))
    simple = {each.rpartition(".")[2] for each in mm2_keys.DEFAULT_CLASSES}
    return names <= mm2_keys.DEFAULT_CLASSES | simple


def _judge_unknown(value: Value, scoped: Scoped, notes: Notes) -> None:
    if scoped.scope == "unknown flow":
        ends = " and ".join(scoped.clusters)
        hint = "write A->B with names from clusters"
        notes.doubt(value.at, f"names the clusters {ends}, one of which is unknown", hint)
    elif (found := _elsewhere(scoped)) is not None:
        level = "a flow" if scoped.scope == "flow" else "a cluster"
        if scoped.name in client_keys.KNOWN and scoped.scope == "cluster":
            level = "a cluster without a client's name"
        notes.warn(value.at, f"has no effect for {level}, as in MirrorMaker 2", found)
    elif (cluster := _unknown_cluster(scoped)) is not None:
        notes.doubt(value.at, f"{cluster} is not a known cluster", f"add {cluster} to clusters")
    else:
        near = _nearest(scoped, 1)
        hint = f"was {near[0]} meant?" if near else "remove it"
        notes.doubt(value.at, UNKNOWN, hint)


def _unknown_cluster(scoped: Scoped) -> str | None:
    head, _, rest = scoped.name.partition(".")
    is_clusters = rest in CONNECTION or rest in _CLUSTER
    return head if scoped.scope == "top" and is_clusters else None


def _elsewhere(scoped: Scoped) -> str | None:
    """Return where a misplaced key of a flow or a cluster would be read."""
    name = scoped.name
    if scoped.scope == "cluster":
        if name in _FLOW or name in _TOP:
            return f"{name} for all flows, or A->B.{name} for one"
        return f"{scoped.prefix}consumer.{name}" if name in client_keys.KNOWN else None
    if scoped.scope != "flow":
        return None
    source, target = scoped.clusters
    if name in CONNECTION:
        return f"{source}.{name} or {target}.{name}"
    if name in mm2_keys.WORKER:
        return f"{target}.{name}"
    return name if name in _TOP else None


def _names(scoped: Scoped) -> Collection[str]:
    clients = {
        prefix + name
        for prefix in _CLIENT_PREFIXES.get(scoped.scope, ())
        for name in client_keys.KNOWN
    }
    spelled = own_keys.SPELLINGS.keys() | mm2_keys.RENAMED.keys()
    match scoped.scope:
        case "flow":
            return _FLOW.keys() | clients | spelled
        case "cluster":
            return _CLUSTER.keys() | clients | CONNECTION
    return _TOP.keys() | clients | client_keys.KNOWN | spelled


def _near(name: str, known: Iterable[str], count: int) -> list[str]:
    return difflib.get_close_matches(name, sorted(known), count, cutoff=0.7)
