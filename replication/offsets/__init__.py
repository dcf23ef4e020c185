"""Offsets of one side as offsets of the other, exactly, and consumer groups carried over.

``consumer_groups``: Positions of consumer groups, from the source to the target
``counted_log``: One log, read for counting: which of its offsets hold records that take part in
    the copy
``flow_offsets``: Translate the offsets of a flow from what its appenders wrote down, in any
    process
``group_sync``: Carry the positions of a flow's consumer groups from its source to its target
``offset_map``: Offsets of a source partition as offsets of its copy, and back: where an answer is
    to be sought
``offset_points``: Where target offset - source offset changes, kept so that offsets can be
    translated
``sync_round``: What a round of group sync asks for, finds, and does
``translate``: Translate offsets of one partition, both ways, by reading no more than batch
    headers

May import: ``provenance``, ``naming``, ``client`` and what is below them.
"""
