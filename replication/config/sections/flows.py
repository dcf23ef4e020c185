"""Decides which flows a file enables, and refuses a file that leaves it open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.config.keys.scopes import split_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.config.file.findings import Notes

Pair = tuple[str, str]
_TRUE, _FALSE = Value("true"), Value("false")


@dataclass(frozen=True, slots=True)
class EnabledFlows:
    """The flows that copy. ``merging``: they follow from a cluster outside ``clusters``."""

    pairs: tuple[Pair, ...]
    merging: bool = False


def ordered_pairs(aliases: Sequence[str]) -> tuple[Pair, ...]:
    """Return every ordered pair of two clusters."""
    return tuple((source, target) for source in aliases for target in aliases if source != target)


def mm2_pairs(props: Mapping[str, Value], aliases: Sequence[str]) -> tuple[Pair, ...]:
    """Return the pairs for which MirrorMaker 2 would start anything.

    That is every enabled flow, and every pair whose heartbeats are not switched off.
    """
    beats = props.get("emit.heartbeats.enabled", _TRUE)
    return tuple(
        (source, target)
        for source, target in ordered_pairs(aliases)
        if _is_true(props.get(f"{source}->{target}.enabled", _FALSE))
        or _is_true(props.get(f"{source}->{target}.emit.heartbeats.enabled", beats))
    )


def copying_pairs(props: Mapping[str, Value], aliases: Sequence[str]) -> tuple[Pair, ...]:
    """Return the pairs that MirrorMaker 2 would copy for; a top-level ``enabled`` is a default."""
    default = props.get("enabled", _FALSE)
    return tuple(
        (source, target)
        for source, target in mm2_pairs(props, aliases)
        if _is_true(props.get(f"{source}->{target}.enabled", default))
    )


def declared_targets(props: Mapping[str, Value], listed: Collection[str]) -> tuple[str, ...]:
    """Return the clusters that have ``X.bootstrap.servers`` but are not in ``clusters``."""
    end = ".bootstrap.servers"
    kinds = ("consumer", "producer", "admin", "cluster")
    found = [
        key.removesuffix(end)
        for key in props
        if key.endswith(end) and "->" not in key and key.removesuffix(end) not in listed
    ]
    return tuple(
        each
        for each in dict.fromkeys(found)
        if not each.endswith(tuple(f".{kind}" for kind in kinds)) and each not in kinds
    )


def plan_flows(
    props: Mapping[str, Value], listed: Sequence[str], unlisted: Sequence[str], notes: Notes
) -> EnabledFlows:
    """Decide which flows there are; remark on everything that would surprise.

    ``unlisted`` clusters count only when no flow is enabled: then they are the targets.
    """
    enabled = copying_pairs(props, listed)
    if enabled:
        _refuse_enabled(props, listed, unlisted, notes)
        _refuse_unlisted(props, unlisted, notes)
        _mention_idle(props, listed, enabled, notes)
        return EnabledFlows(enabled)
    if len(unlisted) == 1 and not _enabled_to(props, listed, unlisted):
        return _merge(props, listed, unlisted[0], notes)
    _refuse_enabled(props, listed, unlisted, notes)
    if len(unlisted) > 1:
        names = ", ".join(unlisted)
        notes.error(
            props[f"{unlisted[0]}.bootstrap.servers"].at,
            f"no flow is enabled and {names} are not in clusters: the target is ambiguous",
            f"list the clusters and write e.g. {listed[0]}->{unlisted[0]}.enabled = true",
        )
        return EnabledFlows(())
    if not notes.has_errors:
        example = _example(listed)
        notes.error(("", 0), "no flow is enabled: nothing would be copied", example)
    return EnabledFlows(())


def _merge(
    props: Mapping[str, Value], listed: Sequence[str], target: str, notes: Notes
) -> EnabledFlows:
    written = "; ".join(f"{source}->{target}.enabled = true" for source in listed)
    notes.warn(
        props[f"{target}.bootstrap.servers"].at,
        f"{target} is not in clusters and no flow is enabled: it is used as the target of "
        f"{', '.join(listed)}",
        f"clusters = {', '.join((*listed, target))}; {written}",
    )
    return EnabledFlows(
        tuple(
            (source, target)
            for source in listed
            if _is_true(props.get(f"{source}->{target}.enabled", _TRUE))
        ),
        merging=True,
    )


def _refuse_unlisted(props: Mapping[str, Value], unlisted: Iterable[str], notes: Notes) -> None:
    for alias in unlisted:
        notes.doubt(
            props[f"{alias}.bootstrap.servers"].at,
            f"cluster {alias} is not in clusters, so nothing uses it",
            f"add {alias} to clusters, or remove its keys",
        )


def _mention_idle(
    props: Mapping[str, Value], listed: Sequence[str], enabled: Collection[Pair], notes: Notes
) -> None:
    if (top := props.get("enabled")) is not None and _is_true(top):
        notes.warn(
            top.at,
            "enables the flows between all clusters",
            "write A->B.enabled = true for each flow",
        )
    for source, target in mm2_pairs(props, listed):
        if (source, target) not in enabled:
            sent = (target, source) in enabled
            _mention_heartbeats(props, f"{source}->{target}", notes, sent=sent)


def _mention_heartbeats(props: Mapping[str, Value], flow: str, notes: Notes, *, sent: bool) -> None:
    """Note a flow that is not enabled; a warning where the file asks for its heartbeats in vain.

    ``sent``: the flow in the other direction sends them.
    """
    asked = props.get(f"{flow}.emit.heartbeats.enabled")
    at = props.get(f"{flow}.enabled", Value("", flow)).at
    message = "is not enabled: MirrorMaker 2 would emit heartbeats only; Isthmus runs no flow"
    if asked is None or sent:
        notes.info(at, message)
    else:
        notes.warn(asked.at, f"{flow} {message}", f"{flow}.enabled = true")


def refuse_self_flows(
    props: Mapping[str, Value], aliases: Collection[str], notes: Notes
) -> tuple[str, ...]:
    """Report each flow from a cluster to itself once; return their keys, which mean nothing else.

    ``A->A.enabled = false`` alone forbids what does not exist; it is passed over.
    """
    found: dict[str, list[str]] = {}
    for key in props:
        ends = split_key(key, aliases).clusters
        if len(ends) == 2 and ends[0] == ends[1]:
            found.setdefault(ends[0], []).append(key)
    for alias, keys in found.items():
        flow = f"{alias}->{alias}"
        if keys != [f"{flow}.enabled"] or _is_true(props[keys[0]]):
            notes.error(
                min((props[key].at for key in keys), key=lambda at: at[1]),
                f"{flow} is a flow from cluster {alias} to itself",
                f"remove the keys {flow}.*, or name two clusters",
            )
    return tuple(key for keys in found.values() for key in keys)


def _enabled_to(
    props: Mapping[str, Value], listed: Iterable[str], unlisted: Collection[str]
) -> tuple[Pair, ...]:
    """Return the flows that are enabled although ``clusters`` does not list their target."""
    return tuple(
        (source, target)
        for source in listed
        for target in unlisted
        if _is_true(props.get(f"{source}->{target}.enabled", _FALSE))
    )


def _refuse_enabled(
    props: Mapping[str, Value], listed: Sequence[str], unlisted: Collection[str], notes: Notes
) -> None:
    for source, target in _enabled_to(props, listed, unlisted):
        notes.error(
            props[f"{source}->{target}.enabled"].at,
            f"cluster {target} is not in clusters, so this flow cannot run",
            f"clusters = {', '.join((*listed, target))}",
        )


def _example(listed: Sequence[str]) -> str:
    if len(listed) == 1:
        other = "B" if listed[0] != "B" else "A"
        return f"name a second cluster: clusters = {listed[0]}, {other}"
    first, second = (*listed, "A", "B")[:2]
    return f"write {first}->{second}.enabled = true"


def _is_true(value: Value) -> bool:
    return value.text.strip().lower() == "true"
