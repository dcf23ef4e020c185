"""Where copying of a partition begins before it is taken over, or why it waits.

``isolation``: With which isolation level a unit copies in an epoch
``waiting_partitions``: Partitions that are left out of a takeover
``lost_anchor``: A partition whose anchor is missing: whether it was copied before, and its last
    batch of ours
``renamed_topic``: A partition whose topic has another name on the target: ends the old copy, begins
    the new
``start_offsets``: The offsets at which a partition may start, asked of source and target
``start_position``: Where copying of a partition begins, also where either topic was deleted and
    created again

May import: ``connections``, ``at_least_once``, ``source_scan``, ``partition``, ``spec`` and what is
below ``copier``.
"""
