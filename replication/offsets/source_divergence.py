"""For translation: finds from which offset on a truncated source has other records than its copy.

After an unclean leader election the source may soon end behind the copied position again. Only the
leader epochs of its log show that the records there are not those that were copied (KIP-595: a
Fetch that names the epoch of the batch before it is answered with the end of what both have).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.client.fetch_session import FetchOptions
from replication.client.log_end import confirmed_end
from replication.client.network import PartitionReader
from replication.errors import ClusterUnavailable
from replication.model import PartitionState, TopicPartition

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.state import Anchor

_CONNECTION = "offsets"
_OPTIONS = FetchOptions(max_wait_ms=0, min_bytes=0, partition_bytes=1)


async def lost_from(source: Network, anchor: Anchor) -> int | None:
    """Return up to which offset the source's log is the one that was copied; None: all of it.

    Asks the source only for an anchor in state SOURCE_TRUNCATED. Raises ClusterUnavailable.
    """
    if anchor.state != PartitionState.SOURCE_TRUNCATED or anchor.source is None:
        return None
    where = TopicPartition(anchor.topic, anchor.partition)
    reading = PartitionReader(source, where, _CONNECTION)
    found = await reading.fetch(anchor.source, _OPTIONS, anchor.source_epoch)
    if found is None or found.error not in {ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE}:
        error = "it has no leader" if found is None else named_error(found.error)
        raise ClusterUnavailable(f"reading {where}: {error}")
    if found.diverging is not None:
        return min(found.diverging.end_offset, anchor.source)
    end = await confirmed_end(source, where, anchor.source)
    return end if end < anchor.source else None
