"""The copy of one partition: its state, batches, positions and errors. No I/O.

``broker_errors``: Map error codes of Produce and Fetch responses to a recovery and a reason
``copy_counters``: Count the records and bytes copied of one partition, and how late
``copy_status``: What operators read of a partition's copy: why it waits, is tried again or was
    halted
``fetch_state``: What is fetched of a partition next, what keeps it from that, and what its source
    last said
``intake``: Turn fetched batches into batches to produce; skip aborted and already copied records
``latency``: Measure the record age at fetch and the replication latency of one partition
``partition_copy``: State of one partition's copy: fetched, in flight and acknowledged offsets, and
    its anchor
``position``: The copy position of a partition, and which of two claims to it wins
``produce_queue``: Queue one partition's batches in order: waiting to be produced, and in flight
``producer_batch``: A batch to produce: merging small queued batches, splitting rejected ones
``producer_state``: Producer ids, epochs and sequences of one target partition, and the stamp of
    each batch
``recovery_queue``: Queue the partitions that need a recovery, and the failure of a fetcher
``refused_batches``: Split a batch that the target rejected, as too large too, until the record is
    alone
``transactional_copy``: State of a partition whose records and anchor are committed in one
    transaction

May import: what is below ``copier``.
"""
