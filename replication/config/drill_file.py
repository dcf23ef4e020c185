"""Writes the file of a drill: the settings of a flow, for canary topics between the same clusters.

Clients, copying, policies and the group sync are those of the flow. Names, selection and what is
written in MirrorMaker 2's formats are the drill's: nothing of the flow's topics and groups is
touched. Topics keep their names, so that both directions use one canary topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.derived_file import taken_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.settings.config import Config
    from replication.state.drill_names import DrillNames

# What the drill sets for both of its flows, or has no use for; the first words of keys.
_LEFT_OUT = (
    "clusters",
    "enabled",
    "topics",
    "topic.config.",
    "groups",
    "replication.policy.",
    "heartbeats.replication.enabled",
    "emit.",
    "offset-syncs.topic.location",
    "sync.topic.",
    "sync.group.acls.enabled",
    "sync.group.offsets.enabled",
    "cycle.prevention",
    "provenance.headers",
    "topic.creation.",
    "copy.start",
    "lag.",
    "rpo.",
    "alert.",
    "metrics.",
    "drill.",
    "mode",
    "batch.",
)


def drill_file(config: Config, names: DrillNames) -> str:
    """Return the text. Raises ConfigError where the flow's own file has errors by now."""
    renamed = {names.source: names.source_alias, names.target: names.target_alias}
    syncs = config.flow(f"{names.source}->{names.target}").groups.sync
    return "\n".join([*taken_over(config, renamed, _LEFT_OUT), *_own(names, syncs=syncs), ""])


def _own(names: DrillNames, *, syncs: bool) -> Iterator[str]:
    """Yield what the drill sets."""
    yield f"clusters = {names.source_alias}, {names.target_alias}"
    for flow in (names.flow, names.back):
        settings = {
            "enabled": "true",
            "topics": names.topic.replace(".", "[.]"),
            "topics.exclude": "",
            "groups": names.group.replace(".", "[.]"),
            "groups.exclude": "",
            "heartbeats.replication.enabled": "false",
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.enabled": "false",
            "sync.topic.configs.enabled": "false",
            "sync.topic.acls.enabled": "false",
            "sync.group.offsets.enabled": str(syncs).lower(),
        }
        yield from (f"{flow}.{key} = {value}" for key, value in settings.items())
    yield "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
