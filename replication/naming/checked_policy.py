"""Adapts an operator's naming policy to Isthmus' and checks each of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.errors import ConfigError
from replication.model import Origin
from replication.naming.custom_policy import described
from replication.naming.internal_topics import internal_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.naming.custom_policy import NamingPolicy


@dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """Implements ``policy.ReplicationPolicy``. Every method raises ConfigError for a wrong answer.

    ``written`` is what the configuration calls the policy, for messages.
    """

    own: NamingPolicy
    written: str

    def remote_topic(self, source: str, topic: str) -> str:
        return self._text(self.own.format_remote_topic, source, topic)

    def origin(self, topic: str) -> Origin | None:
        """Return one hop back; a policy that keeps names has no answer, as in MirrorMaker 2."""
        source = self._optional(self.own.topic_source, topic)
        upstream = self._optional(self.own.upstream_topic, topic)
        if source is None or upstream is None or upstream == topic:
            return None
        return Origin(source, upstream)

    def heartbeats_topic(self) -> str:
        return self._text(self.own.heartbeats_topic)

    def offset_syncs_topic(self, cluster: str) -> str:
        return self._text(self.own.offset_syncs_topic, cluster)

    def checkpoints_topic(self, cluster: str) -> str:
        return self._text(self.own.checkpoints_topic, cluster)

    def is_checkpoints_topic(self, topic: str) -> bool:
        return self._truth(self.own.is_checkpoints_topic, topic)

    def internal_reason(self, topic: str) -> str | None:
        if known := internal_reason(topic):
            return known
        says_so = self._truth(self.own.is_internal_topic, topic)
        return f"internal, says {self.written}" if says_so else None

    def looks_internal(self, topic: str) -> bool:
        return False

    def _text(self, method: Callable[..., object], *given: str) -> str:
        answer = self._asked(method, *given)
        if not isinstance(answer, str) or not answer:
            raise self._wrong(method, given, f"returned {answer!r} instead of a topic name")
        return answer

    def _optional(self, method: Callable[..., object], *given: str) -> str | None:
        answer = self._asked(method, *given)
        if answer is not None and (not isinstance(answer, str) or not answer):
            raise self._wrong(method, given, f"returned {answer!r} instead of a topic name or None")
        return answer

    def _truth(self, method: Callable[..., object], *given: str) -> bool:
        answer = self._asked(method, *given)
        if not isinstance(answer, bool):
            raise self._wrong(method, given, f"returned {answer!r} instead of True or False")
        return answer

    def _asked(self, method: Callable[..., object], *given: str) -> object:
        try:
            return method(*given)
        except Exception as error:  # a custom policy may raise anything
            raise self._wrong(method, given, f"raised {described(error)}") from error

    def _wrong(
        self, method: Callable[..., object], given: tuple[str, ...], what: str
    ) -> ConfigError:
        called = f"{method.__name__}({', '.join(map(repr, given))})"
        return ConfigError(f"the naming policy {self.written}: {called} {what}")


def probe(policy: CheckedPolicy, source: str, target: str) -> None:
    """Ask a policy everything once. Raises ConfigError naming the answer that cannot be used."""
    topic = "orders"
    remote = policy.remote_topic(source, topic)
    if policy.remote_topic(source, topic) != remote:
        raise ConfigError(
            f"the naming policy {policy.written}: format_remote_topic({source!r}, {topic!r}) "
            "returned two different names in two calls"
        )
    origin = policy.origin(remote)
    if origin is not None and (origin.cluster, origin.topic) != (source, topic):
        raise ConfigError(
            f"the naming policy {policy.written}: {remote!r} is its name for {topic!r} of "
            f"{source!r}, but topic_source and upstream_topic map it to {origin.topic!r} of "
            f"{origin.cluster!r}"
        )
    policy.heartbeats_topic()
    policy.is_checkpoints_topic(policy.checkpoints_topic(source))
    policy.offset_syncs_topic(target)
    policy.internal_reason(topic)
