"""State records of verification: up to where copies were compared, and how the last run ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replication.state.record import StateRecord


@dataclass(frozen=True, slots=True)
class VerifiedUpTo(StateRecord):
    """All records of a partition before ``source`` had equal copies before ``target``.

    As far as both logs still had them. It is of these topic ids, and of one start of the copy.
    """

    KIND: ClassVar[str] = "verified up to"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    target_topic: str = ""
    source: int = 0
    target: int = 0
    source_topic_id: str = ""
    target_topic_id: str = ""
    era: int = 0  # the incarnation of the copy, as in its offset points
    at_ms: int = 0  # when it was so


@dataclass(frozen=True, slots=True)
class Verification(StateRecord):
    """The last verification of all topics of a flow."""

    KIND: ClassVar[str] = "verification"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    at_ms: int = 0  # all that was copied by then was to be verified
    verdict: str = ""
    good_ms: int = 0  # ``at_ms`` of the last run that found no difference; 0: there is none
    records: int = 0  # compared in this run
    differences: int = 0
