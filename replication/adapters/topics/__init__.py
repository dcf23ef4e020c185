"""Isthmus' own topics and MirrorMaker 2's, and ordinary records: read and written.

``anchor_reader``: A flow's anchors and losses, read on from where the last look ended
``internal_topics``: MirrorMaker 2's internal topics on a cluster: made as it makes them, written,
    and read
``record_reader``: Reads a partition's records from one offset to another, as any consumer sees
    them
``record_writer``: Writes records, idempotently, and knows when all of them are acked
``state_store``: Isthmus' own topics on a target cluster: made, read and written
``state_tail``: One of Isthmus' own topics, read to its end and followed

May import: ``replication.adapters.admin``, ``replication.adapters.auth`` and the core.
"""
