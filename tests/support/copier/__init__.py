"""Leases, specs, partitions and units for tests of the append engine.

``append_leases``: Leases of units: held, or lapsed
``partition_copies``: Partition copies, with what a source and a target answer
``produce_requests``: A target that keeps Produce requests open until a test answers them
``two_clusters``: Two clusters in memory, and the hosts whose units copy from one to the other
``unit_specs``: Changes of a unit's spec

May import: ``support.fakes``, ``support.records``.
"""
