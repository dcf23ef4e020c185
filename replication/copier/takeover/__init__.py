"""Where a partition continues after a crash: claims, fencing, counting, search by content.

``at_least_once``: At-least-once copies: a producer without a transactional id, which cannot fence
    or be fenced
``claims``: Claims: the ownership record of a partition, and where its copy starts after a
    takeover
``connections``: Connections to a flow's two clusters, pooled per process with the anchors they
    have read
``content_position``: Finds the copy position by content, where retention has deleted what
    counting needs
``counting``: Counts our records on the target up to our fence markers (invariant C)
``fencing_probe``: Fencing probe: does the target accept plain appends and fence old epochs
    (invariants A and B)
``producer_ids``: Producer ids of a unit: one producer per replication path of the records that it
    appends
``start_position``: Start position of each partition: at its anchor, at a new start, or halted for
    a decision
``takeover``: Takeover: claims partitions, fences their former appenders and finds the copy
    position

May import: ``replication.copier.partition`` and what is below ``replication.copier``.
"""
