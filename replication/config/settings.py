"""Build the sections of a flow from its resolved settings."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.config import values
from replication.config.mm2_keys import POLICIES
from replication.config.model import (
    CopySettings,
    Naming,
    RenameRule,
    Selection,
    TopicCreation,
)
from replication.config.own_keys import FLOW
from replication.config.properties import Value
from replication.java_regex import Untranslatable, to_python
from replication.policies import Policies

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.config.findings import Notes
    from replication.config.flows import Pair
    from replication.config.reading import Reader

_DEFAULTS = Selection()
_CLUSTER_REFERENCE = re.compile(r"\$\{clusters\.([^}]*)\}")
_FACTORS = (
    "replication.factor",
    "topic.creation.replication.factor",
    "topic.creation.default.replication.factor",
)


def read_selection(read: Reader, notes: Notes) -> Selection:
    """Return which topics and groups take part."""
    return Selection(
        topics=_topics(read, notes),
        topics_exclude=read.items("topics.exclude", _DEFAULTS.topics_exclude),
        groups=read.items("groups", _DEFAULTS.groups),
        groups_exclude=read.items("groups.exclude", _DEFAULTS.groups_exclude),
        heartbeats=read.boolean("heartbeats.replication.enabled", default=True),
    )


def read_naming(read: Reader, flow: Pair, aliases: Collection[str], *, merging: bool,
                notes: Notes) -> Naming:  # fmt: skip
    """Return how topics are called on the target."""
    declared = read.props.get("replication.policy.class")
    separator = read.text("replication.policy.separator", ".")
    if declared is None:
        kind = "identity" if merging else "prefix"
        read.note("replication.policy.class", kind, None)
    else:
        known = POLICIES.get(read.resolve(declared.text).strip())
        if known is None:
            notes.error(
                declared.at,
                f"{values.shown(declared.text)} is not known: its names would not be MirrorMaker "
                "2's",
                "DefaultReplicationPolicy, IdentityReplicationPolicy, or topics.rename.regex",
            )
        kind = known or "prefix"
        read.note("replication.policy.class", kind, declared)
    if "topics.rename.replacement" in read.props or "topics.rename.regex" in read.props:
        return _rename(read, flow, aliases, notes)
    if kind == "prefix":
        _check_separator(read, flow, separator, notes)
    return Naming(kind="identity" if kind == "identity" else "prefix", separator=separator)


def read_creation(read: Reader) -> TopicCreation:
    """Return how topics are made on the target."""
    factor = read.first(*_FACTORS, "replication.factor")
    partitions, isr = "topic.creation.default.partitions", "topic.creation.min.insync.replicas"
    return TopicCreation(
        enabled=read.boolean("topic.creation.enable", default=True),
        replication_factor=read.whole(factor, 2, least=-1),
        default_partitions=read.whole(partitions, 1, least=1) if partitions in read.props else None,
        min_insync_replicas=read.whole(isr, 1, least=1) if isr in read.props else None,
        configs_strategy=read.choice(
            "sync.topic.configs.strategy", "FIRST", _choices("sync.topic.configs.strategy")
        ),
    )


def read_copying(read: Reader, consumer: Reader) -> CopySettings:
    """Return how the append engine works; ``consumer`` reads the source consumer's settings."""
    default_start = consumer.choice("auto.offset.reset", "earliest", "earliest|latest")
    nowhere: dict[str, dict[int, int]] = {}
    return CopySettings(
        units=read.whole("tasks.max", 1, least=1),
        isolation=consumer.choice(
            "isolation.level", "read_committed", "read_committed|read_uncommitted"
        ),
        buffer_bytes=max(read.bytes("copy.buffer.bytes", 64 << 20), 1 << 20),
        epoch=read.duration("copy.epoch.seconds", timedelta(seconds=30)),
        anchor_every=read.duration("copy.anchor.interval.ms", timedelta(seconds=1)),
        start=read.parsed("copy.start", default_start, values.start),
        start_offsets=read.parsed("copy.start.offsets", nowhere, values.start_offsets),
        client_rack=consumer.text("client.rack", ""),
        bytes_per_second=read.bytes("copy.max.bytes.per.second", 0),
        priority_topics=read.items("copy.priority.topics", ()),
        delivery=read.choice("copy.delivery", "auto", _choices("copy.delivery")),
    )


def read_policies(read: Reader) -> Policies:
    """Return what is done without a person when a partition gets into a state."""
    defaults = Policies()
    policies = {
        name: read.choice(key, getattr(defaults, name), _choices(key))
        for name, key in {
            "lost_range": "on.lost.range",
            "source_recreated": "on.source.recreated",
            "source_truncated": "on.source.truncated",
            "target_reset": "on.target.reset",
            "target_foreign": "on.target.foreign",
            "refused": "on.refused",
        }.items()
    }
    dead_letters = read.boolean("dead.letters.enabled", default=False)
    return Policies(dead_letters=dead_letters, **policies)


def _choices(key: str) -> str:
    return FLOW[key].kind.removeprefix("choice ")


def _topics(read: Reader, notes: Notes) -> tuple[str, ...]:
    regex = read.props.get("topics.regex")
    if regex is None:
        topics = read.items("topics", _DEFAULTS.topics)
        if not topics and (setting := read.props.get("topics")):
            notes.warn(setting.at, "is empty, so that no topic is copied", "topics = .*")
        return topics
    if "topics" in read.props:
        notes.warn(regex.at, "is passed over, because topics is set too", "take one of them out")
        return read.items("topics", _DEFAULTS.topics)
    notes.warn(regex.at, "is not MirrorMaker 2's name", f"topics = {regex.text}")
    read.note("topics", regex.text, regex)
    return (read.resolve(regex.text).strip(),)


def _check_separator(read: Reader, flow: Pair, separator: str, notes: Notes) -> None:
    setting = read.props.get("replication.policy.separator", Value(".", "clusters"))
    if not separator:
        notes.error(
            setting.at,
            "is empty: with prefixes the source of a topic could not be told from its name",
            "replication.policy.separator = .",
        )
    elif not re.fullmatch(r"[A-Za-z0-9._-]+", separator):
        notes.error(setting.at, f"{values.shown(separator)} cannot be part of a topic's name",
                    "letters, digits, dot, underscore, dash")  # fmt: skip
    if not re.fullmatch(r"[A-Za-z0-9._-]+", flow[0]):
        notes.error(("clusters", 0), f"{values.shown(flow[0])} cannot begin a topic's name",
                    "letters, digits, dot, underscore, dash")  # fmt: skip


def _rename(read: Reader, flow: Pair, aliases: Collection[str], notes: Notes) -> Naming:
    replacement = read.text("topics.rename.replacement", "")
    regex = read.text("topics.rename.regex", "(.+)")
    at = read.props.get("topics.rename.replacement", Value("", "topics.rename.replacement")).at
    if not replacement:
        notes.error(at, "is not set, so topics.rename.regex says nothing", "e.g. ${source}.$1")
        return Naming(kind="identity")
    named = set(_CLUSTER_REFERENCE.findall(replacement))
    for unknown in sorted(named - set(aliases)):
        notes.error(at, f"${{clusters.{unknown}}} names no cluster", f"known: {', '.join(aliases)}")
    if len(named) > 1:
        notes.error(at, "names more than one cluster; the rule can hold for one only",
                    "${source} stands for the source at hand")  # fmt: skip
    only_from = next(iter(sorted(named)), None)
    if only_from is not None and only_from != flow[0]:
        return Naming(kind="identity")
    rule = RenameRule(
        pattern=_rename_pattern(read, regex, notes),
        replacement=_CLUSTER_REFERENCE.sub(lambda match: match[1], replacement),
        only_from=only_from,
    )
    _check_replacement(rule, at, notes)
    return Naming(kind="rename", rename=rule)


def _rename_pattern(read: Reader, regex: str, notes: Notes) -> str:
    at = read.props.get("topics.rename.regex", Value("", "topics.rename.regex")).at
    if re.fullmatch(r"\$\d", regex):
        whole = "|".join(read.items("topics", (".*",)))
        if (written := read.props.get("topics.regex")) is not None:
            whole = read.resolve(written.text).strip()
        notes.warn(at, f"{regex} is a reference, not a pattern: taken as the whole match of "
                   "topics.regex", f"topics.rename.regex = ({whole})")  # fmt: skip
        regex = f"({whole})"
    try:
        return to_python(regex)
    except Untranslatable as error:
        notes.error(at, str(error), "e.g. topics.rename.regex = (.+)")
        return "(.+)"


def _check_replacement(rule: RenameRule, at: tuple[str, int], notes: Notes) -> None:
    groups = re.compile(rule.pattern).groups
    for number in re.findall(r"(?<!\\)\$(\d)", rule.replacement):
        if int(number) > groups:
            notes.error(at, f"${number} names a group that topics.rename.regex does not have",
                        f"it has {groups}")  # fmt: skip
    for name in re.findall(r"\$\{([^}]*)\}", rule.replacement):
        if name not in ("source", "target"):
            notes.error(at, f"${{{name}}} is not known", "${source}, ${target}, ${clusters.X}, $1")
