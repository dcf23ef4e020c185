"""Watches a flow's state topics: one that is not compacted loses state, and so does a deleted one.

A start refuses a topic with another policy. Somebody may change it later, and then only the
partitions that are quiet lose their anchors, which nobody would notice before the next start. The
same happens when a topic is deleted and created again between two looks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.state import losing_policy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.client.admin import ClusterAdmin, TopicInfo

_READ_EVERY_S = 20.0


@dataclass(slots=True)
class StateTopics:
    """The state topics of one flow on its target, whose configs are read every 20 s."""

    names: Collection[str]
    problem: str = ""  # as of the last look
    _ids: dict[str, str] = field(default_factory=dict)  # as they were first seen
    _look_at: float = field(default=0.0)

    def deleted(self, existing: Mapping[str, TopicInfo]) -> str:
        """Return a topic that is not ``existing``, or that is another one than at first.

        An empty id is unknown: brokers before 2.8 have none, also while others are upgraded.
        """
        for name in sorted(self.names):
            found = existing.get(name)
            if found is None:
                return name
            if found.topic_id and self._ids.setdefault(name, found.topic_id) != found.topic_id:
                return name
        return ""

    def at_risk(self, target: ClusterAdmin, existing: Collection[str]) -> str:
        """Return which topic loses state, and what to do; empty: none. Raises as ``target`` does.

        A topic that is not ``existing`` is missed elsewhere.
        """
        if time.monotonic() >= self._look_at:
            settings = target.topic_settings({*self.names}.intersection(existing))
            policies = {name: found.get("cleanup.policy") for name, found in settings.items()}
            found = {name: losing_policy(e.value if e else None) for name, e in policies.items()}
            self.problem = "; ".join(
                f"topic {name} {found[name]}" for name in sorted(found) if found[name]
            )
            self._look_at = time.monotonic() + _READ_EVERY_S
        return self.problem
