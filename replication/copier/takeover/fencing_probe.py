"""Fencing probe: does the target accept plain appends and fence old epochs.

Invariants A and B need both.

Apache Kafka does both: it accepts a non-transactional append by a producer with a transactional
id, and after the marker of a newer epoch it rejects the older one. Other clusters with Kafka's
protocol may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.client.network import Fenced, NotGranted
from replication.client.state_topic.state_log import StateLog
from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.records.codec import encode, plain_record
from replication.state import PROBE_TOPIC

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.model import ProducerIdAndEpoch


async def missing_guarantees(target: Network, transactional_id: str) -> str:
    """Return which guarantee of invariants A and B the target lacks; empty: it has all of them.

    The probe topic must exist. Raises NotGranted or ClusterRejected when our user may not run the
    probe, ClusterUnavailable when a broker does not answer: then the result is unknown.
    """
    await target.refresh([PROBE_TOPIC])
    former, present = StateLog(target, PROBE_TOPIC), StateLog(target, PROBE_TOPIC)
    await present.start_near_end(0)
    old = await target.init_producer_id(transactional_id)
    await former.own(old)
    if refusal := await _append(former):
        return f"it rejects a produce request outside a transaction ({refusal})"
    new = await target.init_producer_id(transactional_id)
    if new[0] != old[0]:
        return "it assigns two producer ids to one transactional id"
    await present.own(new)
    await target.fence(transactional_id, new, [present.partition])
    if not await _has_marker(present, new):
        return "it writes no marker for an aborted transaction"
    if not isinstance(await _append(former, b"late"), Fenced):
        return "it accepts produce requests of a fenced producer"
    if refusal := await _append(present):
        return f"after a marker it rejects a produce request outside a transaction ({refusal})"
    return ""


async def _append(log: StateLog, key: bytes = b"probe") -> ClusterRejected | None:
    """Append a record; return the broker's rejection, or None."""
    record = plain_record(now_ms(), key, b"")
    try:
        await log.append_batch(encode([record]))
    except NotGranted:
        raise
    except ClusterRejected as refusal:
        return refusal
    return None


async def _has_marker(log: StateLog, producer: ProducerIdAndEpoch) -> bool:
    """Wait for the producer's marker. If none comes, an append checks that the log still works."""
    try:
        await log.wait_for_markers(dict([producer]))
    except ClusterUnavailable:
        if await _append(log):
            raise
        return False
    return True
