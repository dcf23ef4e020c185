"""Kafka's protocol for the append engine.

Own framing for Fetch and Produce, which copies no record.

``batched_requests``: Questions that come in one turn of the event loop, answered by one request
``channel``: One connection to a broker on the event loop: frames out, frames in, answers in order
``connections``: The connections to one cluster: dialed when first needed, closed when they stop
    answering
``coordination``: Producer ids and transactions, by the transactional id's coordinator
``fetches``: Fetches over the connections to the brokers, also over one that has yet to be opened
``framing``: The bytes of Fetch and Produce, without copying record data
``group_codec``: What is said of consumer groups, between kafka-python's messages and our values
``groups``: Consumer groups of one cluster: listed, their positions read and set, many in one
    request
``legacy_records``: Messages of formats 0 and 1, which brokers before 0.11 wrote, as batches of
    format 2
``members``: How many members a group has, of whatever protocol: workers of Kafka Connect meet in
    one too
``network``: One cluster on one event loop: leaders, coordinators, and the calls that the copier
    makes
``offsets``: Ask brokers for offsets: one request a leader, however many partitions are asked
    about
``open_connection``: Open and authenticate a connection with kafka-python, then take its socket
    over
``topic_listing``: All topics of a cluster with their ids, in one request, and cheap to read

May import: ``replication.adapters.auth`` and the core.
"""

from replication.adapters.wire.network import connect

__all__ = ["connect"]
