"""Where a partition begins, or continues after a crash: claims, fencing, counting, content.

The takeover of a flow from MirrorMaker 2 is another one: ``replication.mm2``.

``at_least_once``: At-least-once copies: a producer without a transactional id, which cannot fence
    or be fenced
``claims``: The claim of a partition: who may append, and what a takeover sets from it
``connections``: Connections to a flow's two clusters, pooled per process with the anchors they have
    read
``content_position``: Finds the copy position by content, where a log no longer has what counting
    needs, or no anchor
``fencing_probe``: Fencing probe: does the target accept plain appends and fence old epochs
``own_record_count``: Count what was copied before a crash: our records on the target up to our
    fence markers
``point_log``: Store the offset points of partitions, before an anchor names them
``producer_ids``: Producer ids of a unit: one producer per replication path of the records that it
    appends
``source_scan``: Reads the source from an anchor on without copying: to find the position that a
    copy had
``takeover``: Takeover: claims partitions, fences their former appenders and finds the copy position
``target_registry``: The target's registry of producer ids as one unit knows it, and its second copy
``placement``: Where copying of a partition begins before it is taken over, or why it waits

May import: ``partition``, ``spec`` and what is below ``copier``.
"""
