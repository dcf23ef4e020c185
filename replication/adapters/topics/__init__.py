"""Isthmus' own topics and MirrorMaker 2's, and ordinary records: read and written.

``anchor_reader``: Reads a flow's anchors, losses and groups, each time from where the last read
    ended
``internal_topic_client``: Creates, writes and reads MirrorMaker 2's internal topics on a cluster
``record_reader``: Reads a partition's records between two offsets, as a consumer sees them
``record_writer``: Writes records with an idempotent producer and waits until all of them are
    acknowledged
``state_producer``: Writes records of Isthmus' own topics, in order: at once or in the background
``state_store``: Creates, reads and writes Isthmus' own topics on a target cluster
``state_tail``: Reads some of Isthmus' own topics to their ends and follows them

May import: ``admin``, ``auth``, ``wire`` and what is below ``adapters``.
"""
