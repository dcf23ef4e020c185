"""Translates the client library's errors into ours."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException

from replication.adapters.auth.oauth import TokenCallback
from replication.adapters.auth.reached_clusters import ReachedCluster, reached_by
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    LoginRejected,
    UntrustedConnection,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

# KafkaError.retriable() is no guide here: it is False even for an admin call's time-out.
_MAY_WORK_LATER = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._PARTIAL,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)
# "Partial response" to a metadata request: it lists neither a broker nor a topic.
NO_BROKER = "it lists no broker that is alive; one that has just started does so for a moment"
# A connection that fails with one of these fails again; the client itself retries forever.
_REFUSED_LOGIN = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})
# A connection that is lost during the handshake is reported as a failed authentication too.
_LOST_IN_HANDSHAKE = re.compile(r": Local: ")
_LOGIN_PAUSE_MS = 1000
_WARNING = 4  # of syslog; librdkafka warns once it hears another cluster's id than before
_OTHER_CLUSTER = re.compile(r'reports different ClusterId "(.+?)" than previously known "(.+?)"')
_FLUSH_S = 1.0
_NOISE = re.compile(r"^\S+/\S+: | \(after \d+ms in state \w+.*\)|, \d+ identical error.*$")


class ReportedErrors:
    """Keeps the last connection error that a client reported: calls only raise "timed out"."""

    def __init__(self) -> None:
        self._last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Take one, as the client's ``error_cb``. The reason counts more than its consequence."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self._last is None:
            self._last = error

    def forget(self) -> None:
        """Start afresh, after the cluster has answered."""
        self._last = None

    @property
    def kind(self) -> type[ClusterUnavailable | ClusterRejected]:
        """What kept the connection from being used: nobody answered, or one side refused."""
        if self._last is None:
            return ClusterUnavailable
        if self._last.code() in _REFUSED_LOGIN and not _LOST_IN_HANDSHAKE.search(self._last.str()):
            return LoginRejected
        is_untrusted = self._last.code() == KafkaError._SSL
        return UntrustedConnection if is_untrusted else ClusterUnavailable

    def refuse(self, client: AdminClient | Producer) -> bool:
        """Say whether ``client``, which reports to this, is not let in."""
        client.poll(0)  # this is what calls error_cb
        return self.kind is LoginRejected

    def __str__(self) -> str:
        if self._last is None:
            return ""
        if self._last.code() == KafkaError._ALL_BROKERS_DOWN:
            return "every broker refuses the connection, or closes it"
        return _NOISE.sub("", self._last.str()).strip()


class _Log:
    """Takes what a client logs, while it is polled, and heeds only that it met another cluster.

    What a former client says at its end is no news.
    """

    def __init__(self, reached: ReachedCluster) -> None:
        self._reached, self._turns = reached, reached.turns

    def log(self, _level: int, text: str, *about: object) -> None:
        found = _OTHER_CLUSTER.search(text % about)
        if found and self._reached.turns == self._turns:
            self._reached.learn(found[1], found[2])


def quiet(client: Mapping[str, Any], complaints: ReportedErrors) -> dict[str, Any]:
    """Return the client's settings so that it reports errors to ``complaints``, not to stderr.

    All clients of its address hear of it when it meets another cluster than before.
    A client that logs in connects again after 1 s at the earliest: a refused login counts. Raises
    ClusterUnavailable or LoginRejected where it needs a token of ours and there is none.
    """
    if isinstance(tokens := client.get("oauth_cb"), TokenCallback):
        tokens.require(str(client["bootstrap.servers"]))
    pauses = {}
    if "sasl.mechanism" in client:
        longest_ms = client.get("reconnect.backoff.max.ms", _LOGIN_PAUSE_MS)
        pauses = {"reconnect.backoff.ms": min(_LOGIN_PAUSE_MS, longest_ms)}
    log = {"logger": _Log(reached_by(client)), "log_level": _WARNING}
    return {**log, **pauses, **client, "error_cb": complaints}


def flush(producer: Producer, complaints: ReportedErrors, limit_s: float) -> None:
    """Wait until all is delivered. Raises TimeoutError, at once where the login is refused."""
    deadline = time.monotonic() + limit_s
    while producer.flush(_FLUSH_S):
        if time.monotonic() > deadline or complaints.kind is LoginRejected:
            producer.purge()
            raise TimeoutError


@contextmanager
def our_errors(
    doing: str, complaints: Callable[[], ReportedErrors] = ReportedErrors
) -> Iterator[None]:
    """Re-raise the client's errors as ours, saying what was being done and what came back."""
    try:
        yield
    except (LoginRejected, UntrustedConnection) as error:  # before there was a client
        raise type(error)(f"{doing}: {error}") from error
    except TimeoutError as error:
        raise _unanswered(doing, "no response in time", complaints()) from error
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() in _MAY_WORK_LATER:
            text = NO_BROKER if cause.code() == KafkaError._PARTIAL else cause.str()
            raise _unanswered(doing, text, complaints()) from error
        raise ClusterRejected(f"{doing}: {cause.str()}") from error


def _unanswered(
    doing: str, message: str, complaints: ReportedErrors
) -> ClusterUnavailable | ClusterRejected:
    return complaints.kind(f"{doing}: {str(complaints) or message}")
