"""Where a partition continues after a crash: claims, fencing, counting, search by content.

``at_least_once``: Copy where nobody can be fenced: after a crash what followed the last anchor
    may come again
``claims``: What a claim says of a lane, and how a lane begins by what was found
``connections``: Both ends of a flow, what a process has read of its anchors, and who may use them
    now
``content_position``: Find a position by content, where retention has taken what counting needs
``counting``: Count what of ours stands on the target before our fence markers (invariant C)
``fencing_probe``: Prove on a target what appends outside transactions rely on (invariants A and
    B)
``producer_ids``: Who a unit is for the brokers: one producer for each way that what it appends
    came by
``start_position``: Where each partition of a unit goes on: at its anchor, at a start, or nowhere
    before an answer
``takeover``: Take partitions over from whoever appended to them before

May import: ``replication.copier.partition`` and what is below ``replication.copier``.
"""
