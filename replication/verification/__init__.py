"""Rules of a verification: which ranges of source and target should be equal, and whether they are.

``range_check``: Compares one offset range of a partition with its copy, over the wire protocol
``range_parts``: Finds the parts of a range that differ: what is equal need not be looked at record
    by record
``range_plan``: Divides what is copied of a partition into ranges that can be compared apart
``ranges``: An offset range of a partition and of its copy, and what a comparison of it found
``transformed``: What is verified of a transform, and what a comparison with its expected results
    found
``verified_age``: Says whether a flow was verified lately, and whether all was equal

May import: ``offsets``, ``provenance``, ``client`` and what is below ``client``. No I/O but through
the protocols of ``client``.
"""
