"""The copy of one partition: its state, batches, positions and errors. No I/O.

``broker_errors``: What a broker's error code asks of a partition
``copy_counters``: What was copied of one partition, and how late
``fetch_state``: What of a lane decides whether and where it is fetched; whoever must act hears of
    each change
``intake``: Take in what the source answered: what is to be copied becomes pieces that wait
``latency``: How old records are when they are read, and when they are on the target
``partition_copy``: One partition on its way: what was fetched, what is on the wire, what is acked
``position``: Where a partition's copy stands, and where to resume after a crash
``produce_queue``: What of one partition waits to be sent and what is on the wire, in order
``producer_batch``: Batches on their way to the target, and how small ones that queue up become
    one
``producer_state``: As whom a lane appends: one of our producers at a time, the others of its
    partition rest
``recovery_queue``: Partitions that cannot go on until something is done about them, and fetchers
    that failed
``refused_batches``: Take back what surely did not land, and go on in another way
``transactional_copy``: A lane whose records and anchors are committed together

May import: what is below ``replication.copier``.
"""
