"""Translates the client library's errors into ours."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException

from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# KafkaError.retriable() is no guide here: it is False even for an admin call's time-out.
_MAY_WORK_LATER = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
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
# A connection that fails with one of these fails again; the client itself retries forever.
_REFUSED_CONNECTION = frozenset(
    {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL}
)
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
    def rejected(self) -> bool:
        """Whether the connection was rejected in a way that a retry does not fix."""
        return self._last is not None and self._last.code() in _REFUSED_CONNECTION

    def __str__(self) -> str:
        return "" if self._last is None else _NOISE.sub("", self._last.str()).strip()


def quiet(client: Mapping[str, Any], complaints: ReportedErrors) -> dict[str, Any]:
    """Return the client's settings so that it reports errors to ``complaints``, not to stderr."""
    return {"log_level": 0, **client, "error_cb": complaints}


@contextmanager
def our_errors(
    doing: str, complaints: Callable[[], ReportedErrors] = ReportedErrors
) -> Iterator[None]:
    """Re-raise the client's errors as ours, saying what was being done and what came back."""
    try:
        yield
    except TimeoutError as error:
        raise _unanswered(doing, "no response in time", complaints()) from error
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() in _MAY_WORK_LATER:
            raise _unanswered(doing, cause.str(), complaints()) from error
        raise ClusterRejected(f"{doing}: {cause.str()}") from error


def _unanswered(
    doing: str, message: str, complaints: ReportedErrors
) -> ClusterUnavailable | ClusterRejected:
    kind = ClusterRejected if complaints.rejected else ClusterUnavailable
    return kind(f"{doing}: {str(complaints) or message}")
