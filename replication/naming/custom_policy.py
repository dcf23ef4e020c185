"""Custom naming policies in Python: the base class, and how one is loaded.

``replication.policy.class = python:package.module:Class`` names a class; ``python:name`` one that
a package registers as an entry point of the group ``isthmus.policies``. The methods are those of
MirrorMaker 2's ``ReplicationPolicy`` in Python's spelling, with the same meaning.
"""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from replication.errors import ConfigError
from replication.naming.internal_topics import HEARTBEATS, InternalTopicNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUP = "isthmus.policies"
PREFIX = "python:"


class NamingPolicy(ABC):
    """What topics are called on the target. Extend it; three methods are yours to write.

    A policy is called in several processes and threads: its answer depends on its arguments alone.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 -- most need nothing
        """Take what the file sets as ``replication.policy.config.*``, without that beginning.

        ``source.cluster.alias``, ``target.cluster.alias`` and ``replication.policy.separator``
        are there too.
        """

    @abstractmethod
    def format_remote_topic(self, source_cluster: str, topic: str) -> str:
        """Return the name that ``topic`` of ``source_cluster`` has on the target."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """Return the cluster that ``topic`` was copied from; None for a local topic."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """Return the name of ``topic`` on the cluster that it was copied from; None as above."""

    def heartbeats_topic(self) -> str:
        """Return the topic that heartbeats are emitted to."""
        return HEARTBEATS

    def offset_syncs_topic(self, cluster: str) -> str:
        """Return the topic of the offset syncs of a flow whose other end is ``cluster``."""
        return InternalTopicNames().offset_syncs_topic(cluster)

    def checkpoints_topic(self, cluster: str) -> str:
        """Return the topic of the checkpoints of groups of ``cluster``."""
        return InternalTopicNames().checkpoints_topic(cluster)

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Say whether ``topic`` holds checkpoints."""
        return InternalTopicNames().is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Say whether ``topic`` is to be left out besides what is never copied anyway.

        Brokers' own topics, ``mm2-*.internal``, ``*.checkpoints.internal`` and
        ``isthmus-*.internal`` are never passed in.
        """
        return False


def load_policy(written: str, folder: str, settings: Mapping[str, str]) -> NamingPolicy:
    """Return the policy that ``written`` names, configured. Raises ConfigError.

    Its module is looked for where Python looks (PYTHONPATH), then in ``folder``.
    """
    found = _find(written, folder)
    if not (isinstance(found, type) and issubclass(found, NamingPolicy)):
        raise ConfigError(f"{written} does not extend replication.naming.NamingPolicy")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise ConfigError(f"{written} does not implement {', '.join(missing)}")
    try:
        policy = found()
        policy.configure(settings)
    except Exception as error:
        raise ConfigError(f"{written} cannot be instantiated: {described(error)}") from error
    return policy


def described(error: BaseException) -> str:
    """Return an error of foreign code in a line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _find(written: str, folder: str) -> Any:
    name = written.removeprefix(PREFIX).strip()
    module, colon, attribute = name.partition(":")
    try:
        if colon:
            with _also_from(folder):
                return getattr(importlib.import_module(module), attribute)
        registered = [each for each in entry_points(group=GROUP) if each.name == name]
        if registered:
            return registered[0].load()
    except Exception as error:  # a custom module may raise anything
        raise ConfigError(f"loading {written}: {described(error)}") from error
    raise ConfigError(
        f"no installed package registers {name!r} as an entry point of the group {GROUP}; "
        "or write python:package.module:Class"
    )


@contextmanager
def _also_from(folder: str) -> Iterator[None]:
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
