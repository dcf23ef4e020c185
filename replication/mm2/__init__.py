"""MirrorMaker 2's own records as bytes, and the takeover from it and the handback to it.

``checkpoints``: Translated offsets of the source's groups as checkpoints in MirrorMaker 2's format
``compacted_topic``: An internal compacted topic, created before each write if it does not exist
``heartbeats``: Heartbeats in MirrorMaker 2's format, and their age
``internal_topics_protocol``: What writers of MirrorMaker 2's records need of a cluster; see
    ``adapters.topics``
``progress``: Source offsets of MirrorMaker 2's connectors in Connect's offsets topic
``proof``: How far MirrorMaker 2 has copied a partition, proven by the content of its copy
``syncs``: Offset syncs in MirrorMaker 2's format, for its checkpoint connector
``takeover``: Plans the takeover from MirrorMaker 2 and the return to it
``wire``: MirrorMaker 2's heartbeats, checkpoints and offset syncs as bytes

May import: ``state``, ``records`` and what is below ``records``. Clusters are called through
``internal_topics_protocol`` alone.
"""
