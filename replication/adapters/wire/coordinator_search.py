"""Asks which brokers coordinate consumer groups or transactional ids (FindCoordinator)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from kafka.protocol.metadata import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

FIND_COORDINATOR = 4  # the highest version: it names several keys


class CoordinatorType(IntEnum):
    """What a key is, as Kafka's FindCoordinatorRequest.CoordinatorType numbers it."""

    GROUP = 0
    TRANSACTION = 1


def find_coordinators(kind: CoordinatorType, keys: Sequence[str]) -> Any:
    """Return the request for the coordinators of ``keys``, at least one."""
    return FindCoordinatorRequest(key=keys[0], key_type=kind, coordinator_keys=list(keys))
