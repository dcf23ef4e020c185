"""The consumer groups of one cluster, as a dictionary of their committed offsets."""

from __future__ import annotations

from replication.errors import ClusterUnavailable, ReplicationError
from replication.offsets.groups.consumer_groups import Group


class Groups:
    """Groups by name: ``held`` are their offsets, ``states`` those that are not Empty.

    ``unreadable``: which may not be read, and why. ``refused``: of which offsets are not committed.
    """

    def __init__(self, **positions):
        self.held = {name: dict(each) for name, each in positions.items()}
        self.states, self.unavailable, self.silent = {}, {}, False
        self.unreadable: dict[str, str] = {}
        self.refused: dict[str, ReplicationError] = {}

    def listed(self):
        if self.silent:
            raise ClusterUnavailable("A is silent")
        return {name: Group(name, self.states.get(name, "Empty"), node=1) for name in self.held}

    def positions(self, groups):
        names = (each.name for each in groups if each.name not in self.unreadable)
        return {name: dict(self.held[name]) for name in names}

    def commit(self, plan):
        for each in plan:
            if each.group not in self.refused:
                self.held.setdefault(each.group, {}).update(each.positions)
        return {e.group: self.refused[e.group] for e in plan if e.group in self.refused}
