"""Failover, switchover, failback: their steps, where a flow stood, and what may be missing.

``diverged_tail``: Finds the records of a source that never arrived at the target: its diverged tail
``failback``: A return to a source that was lost: its options, its steps, what becomes of its tail
``flow_fence``: Fences the producers of a flow from outside its units: after it no record of theirs
    is appended
``group_positions``: Where a group continues on the target, when its source cannot be read
``procedure``: The steps of an operation in order, and who may carry it out
``proven_positions``: Proves how far a flow copied: from its anchors, and by counting behind those
    of an unclean end
``source_writers``: Finds who still writes records that a flow copies, from the batches that reached
    its source
``switchover``: A planned move of a flow's clients to its target: its options and its steps, in
    order

May import: ``copier.partition``, ``offsets`` and what is below them. Only ``flow_fence``,
``proven_positions`` and ``source_writers`` call a cluster.
"""
