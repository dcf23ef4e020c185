"""MirrorMaker 2's own records as bytes, and the takeover from it and the handback to it.

``checkpoints``: Where the source's groups stand, in terms of the target, as MirrorMaker 2 writes
    it
``compacted_topic``: An internal topic that is written again and again: made when it is not there,
    also later on
``heartbeats``: Signs of life as MirrorMaker 2 writes them, and how old they are
``ports``: What writing MirrorMaker 2's records asks of a cluster; see adapters.internal_topics
``progress``: Positions of MirrorMaker 2's connectors in Connect's offsets topic
``proof``: How far MirrorMaker 2 has copied a partition, proven by what the partition's copy holds
``syncs``: Pairs of offsets as MirrorMaker 2 writes them, for its checkpoint connector
``takeover``: What is to be done to go on where MirrorMaker 2 stopped, or to let it go on after us
``wire``: MirrorMaker 2's heartbeats, checkpoints and offset syncs as bytes

May import: ``naming``, ``client`` and what is below them. Pure.
"""
