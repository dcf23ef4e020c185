"""Offsets of one side as offsets of the other, exactly, and consumer groups carried over.

``closed_interval``: Translates offsets between two sync points: by counting in both logs, or by
    their content
``counted_log``: Reads one log to count records: which of its offsets hold records of this copy
``flow_offsets``: Translates the offsets of a flow from its state topics and both logs, in any
    process
``groups``: Consumer groups of a flow's source, carried over to its target
``known_points``: What a flow's state topics say of its partitions, transforms, groups and
    verifications
``log_bounds``: Says which offsets of a partition do not exist, and moves answers into the other log
``source_divergence``: For translation: finds from which offset on a truncated source has other
    records than its copy
``offset_map``: Sync points of source and target, and the answer for an offset that has no record
``offset_points``: Offset points: where target offset - source offset changes, stored for
    translation
``record_counts``: Counts records in one log up to some offsets, and finds the records of some ranks
``stored_answers``: Stores answers for source offsets that stay true, so that a group at rest costs
    no reading
``translate``: Translates offsets of one partition, both ways, by counting records in batch headers

May import: ``provenance``, ``naming``, ``client`` and what is below ``client``.
"""
