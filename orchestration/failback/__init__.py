"""A failback as an operator carries it out: clients return to a source that was lost.

``failback``: Plans and carries out a failback: clients return to a source that was lost and is back
``report``: What a failback tells: what stands against it, and the tail of each partition
``steps``: The steps of a failback on the flow's clusters; each may run twice
``tail_export``: Writes a diverged tail to files, by a bounded Spark job in a process of its own

May import: ``orchestration.recovery`` and ``orchestration.flows``.
"""
