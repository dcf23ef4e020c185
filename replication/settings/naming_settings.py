"""Which topics and groups a flow selects, and how their names on the target are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from replication.settings.section import Section
from replication.settings.setting_key import Derived, Key, KeyLevel


class MappedName(NamedTuple):
    """One line of a map file: the target name of ``topic`` of ``source``."""

    source: str | None  # None: of any
    topic: str
    target: str
    line: int = 0


class OwnPolicyClass(Section):
    """A custom naming policy: see ``replication.naming.custom_policy``."""

    written: str  # as in the file: python:package.module:Class
    folder: str  # where its module may be, besides Python's path
    settings: Mapping[str, str] = Field(default={}, repr=False)  # they may hold anything


class RenameRule(Section):
    """``topics.rename.regex`` and ``topics.rename.replacement``, already translated to Python."""

    pattern: str
    replacement: str  # Java dialect: ``$1``, ``${source}``


class Naming(Section):
    """How target names of topics are built."""

    kind: Annotated[
        Literal["prefix", "identity", "rename", "own"],
        Key("replication.policy.class", "string",
            "`A.orders`; or `IdentityReplicationPolicy`: `orders`; or "
            "`python:package.module:Class`, [a custom policy](naming.md#a-custom-policy)",
            level=KeyLevel.CONNECTOR, default="`DefaultReplicationPolicy`"),
    ] = "prefix"  # fmt: skip
    own: Annotated[
        OwnPolicyClass | None,
        Key("replication.policy.config.*", "string", "passed to a custom policy"),
    ] = None
    separator: Annotated[
        str,
        Key("replication.policy.separator", "string",
            "between source alias and topic; must not be empty with prefixes",
            level=KeyLevel.CONNECTOR),
    ] = "."  # fmt: skip
    internal_separator: Annotated[
        str,
        Key("replication.policy.internal.topic.separator.enabled", "boolean",
            "use the separator in the names of checkpoint and offset-sync topics too; `false`: "
            "use dots", level=KeyLevel.CONNECTOR, default="`true`"),
    ] = "."  # in the names of MirrorMaker 2's own topics  # fmt: skip
    rename: Annotated[
        RenameRule | None,
        Key("topics.rename.regex", "string",
            "a pattern for whole names; a topic that does not match keeps its name",
            default="`(.+)`"),
        Key("topics.rename.replacement", "string",
            "in Java's syntax: `$1`, `${name}` for groups, `\\$` for a dollar; also `${source}`, "
            "`${target}`; `${clusters.A}` is A's alias and limits the rule to flows from A"),
    ] = None  # fmt: skip
    mapped: Annotated[
        tuple[MappedName, ...],
        Key("topics.map.file", "string",
            "a file with lines `source-topic = target-topic`, which override all of the above; "
            "[details](naming.md#a-map-file)"),
    ] = ()  # fmt: skip
    held: Annotated[
        tuple[MappedName, ...], Derived("former names that topics keep: naming.name_changes")
    ] = ()
    merge: Annotated[
        tuple[str, ...],
        Key("topics.merge", "patterns",
            "patterns of target topics that may merge several source topics although no single "
            "rule names them"),
    ] = ()  # fmt: skip

    @property
    def prefixes_all(self) -> bool:
        """Whether the name of every copy shows its source."""
        return self.kind == "prefix" and not self.mapped and not self.held


class Selection(Section):
    """Which topics and groups are selected: Java regexes for whole names; exclusions win."""

    topics: Annotated[
        tuple[str, ...],
        Key("topics", "patterns", "which topics are copied", level=KeyLevel.CONNECTOR),
        Key("topics.regex", "pattern", "one pattern instead of `topics`; commas are part of it"),
    ] = (".*",)  # fmt: skip
    topics_exclude: Annotated[
        tuple[str, ...],
        Key("topics.exclude", "patterns", "which topics are not copied", level=KeyLevel.CONNECTOR),
    ] = (r".*[\-\.]internal", r".*\.replica", r"__.*")
    groups: Annotated[
        tuple[str, ...],
        Key("groups", "patterns", "which groups belong to the flow", level=KeyLevel.CONNECTOR),
    ] = (".*",)
    groups_exclude: Annotated[
        tuple[str, ...],
        Key("groups.exclude", "patterns", "which groups do not", level=KeyLevel.CONNECTOR),
    ] = (r"console-consumer-.*", r"connect-.*", r"__.*")
    heartbeats: Annotated[
        bool,
        Key("heartbeats.replication.enabled", "boolean",
            "copy heartbeat topics whether `topics` matches them or not", level=KeyLevel.CONNECTOR),
    ] = True  # fmt: skip
