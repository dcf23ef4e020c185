"""Kafka's protocol for the append engine; Fetch and Produce are framed without a copy.

``api_messages``: kafka-python's requests as frames, and their responses as it decodes them
``batched_requests``: Batches the requests of one iteration of the event loop into a single one
``coordination``: Requests to transaction coordinators: producer ids, adding partitions, ending
    transactions
``coordinator_search``: Asks which brokers coordinate consumer groups or transactional ids
    (FindCoordinator)
``fetch_produce_codec``: Encodes Fetch and Produce requests and decodes their responses, without
    copying records
``fetches``: Sends Fetch requests to brokers, opening a connection first where there is none
``group_codec``: Converts consumer group offsets between kafka-python's messages and our values
``groups``: Consumer groups of one cluster: list them, count members, read and commit offsets in
    bulk
``legacy_records``: Converts messages of formats 0 and 1, written by brokers before 0.11, to batches
    of format 2
``list_offsets``: Requests offsets by timestamp: one ListOffsets per leader, however many partitions
``network``: One cluster on one event loop: metadata, Fetch, Produce, offsets and transactions
``topic_list``: Lists all topics of a cluster with their ids, in one Metadata request that is cheap
    to decode
``connection``: The connections to the brokers of one cluster, and the requests that go over them

May import: ``auth`` and what is below ``adapters``.
"""

from replication.adapters.wire.network import connect

__all__ = ["connect"]
