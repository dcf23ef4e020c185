"""What a cluster shows of itself beside topics: addresses, disks, quotas, its clock, our rights."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.acl_values import Resource

Version = tuple[int, ...]


class ConnectionStep(StrEnum):
    """The steps of a connection, in order."""

    DNS = "DNS"
    PORT = "port"
    TLS = "TLS"
    LOGIN = "login"


class Certificate(NamedTuple):
    """A certificate that a broker presents."""

    subject: str
    issuer: str
    ends_ms: int  # wall clock


@dataclass(frozen=True, slots=True)
class AddressFacts:
    """How far a connection to one address came. ``problem`` is empty if all steps succeeded."""

    address: str
    failed: ConnectionStep | None = None
    problem: str = ""
    hosts: tuple[str, ...] = ()  # IP addresses
    certificates: tuple[Certificate, ...] = ()  # the broker's own first
    version: Version = ()  # of the broker, inferred from the requests that it supports


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker; None: the broker is older than 3.3 and does not say."""

    broker: int
    path: str
    total_bytes: int | None
    usable_bytes: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """Quotas of one entity: user, client id or both; a name of None is the default of its kind."""

    entity: tuple[tuple[str, str | None], ...]
    values: Mapping[str, float]  # by Kafka's key, such as producer_byte_rate


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a cluster answered; ``unknown`` says why a question has no answer, by its name."""

    cluster_id: str
    brokers: Mapping[int, str]  # addresses that clients are given
    log_dirs: tuple[LogDir, ...] = ()
    quotas: tuple[Quota, ...] = ()
    clock_ahead_ms: int | None = None  # of the controller's clock, against this machine's
    unknown: Mapping[str, str] = field(default_factory=dict)
    controller: int | None = None  # the leader of the controllers; brokers name any broker
    version: Version = ()  # of one broker, inferred from the requests that it supports


class GrantedOperations(NamedTuple):
    """What our user may do with one resource; None: unknown, or it does not exist."""

    resource: Resource  # a literal one
    operations: frozenset[str] | None


class RecordTimes(NamedTuple):
    """Timestamps of a partition's records, in ms; None: it has no record, or none with a time."""

    oldest_ms: int | None
    newest_ms: int | None
