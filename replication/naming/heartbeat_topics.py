"""Which topics of each cluster hold heartbeats that the flows copy, on any hop. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.naming.selection import TopicSelector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.settings.config import Config


def heartbeat_names(config: Config) -> Mapping[str, frozenset[str]]:
    """Return them by cluster. Raises ConfigError for a policy that cannot be called.

    Any source may have heartbeats, whichever program writes them: MirrorMaker 2 writes them too.
    """
    copying = [
        (flow, TopicSelector.for_flow(flow, config.clusters))
        for flow in config.flows
        if flow.selection.heartbeats
    ]
    found: dict[str, set[str]] = {alias: set() for alias in config.clusters}
    for flow, selector in copying:
        found[flow.source].add(selector.policy.heartbeats_topic())
    for _ in config.clusters:  # a way leads through each of them once
        for flow, selector in copying:
            chosen = selector.selected(found[flow.source])
            found[flow.target].update(map(selector.remote_topic, chosen))
    return {alias: frozenset(names) for alias, names in found.items()}
