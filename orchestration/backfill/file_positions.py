"""Up to where records of files were appended to the copies of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.state import Anchor, anchors_topic
from replication.state.backfill_names import BackfillNames

if TYPE_CHECKING:
    from replication.adapters.clients import KafkaClients
    from replication.settings.flow_settings import Flow


def appended_from_files(flow: Flow, clients: KafkaClients) -> dict[TopicPartition, int]:
    """Return up to which source offset records of files were appended, by source partition."""
    names = BackfillNames.of_files(flow.source, flow.target)
    found = clients.store(flow).read(anchors_topic(names.source_alias)).values()
    return {
        TopicPartition(each.topic, each.partition): each.source
        for each in found
        if isinstance(each, Anchor) and each.flow == names.flow and each.source
    }
