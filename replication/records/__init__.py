"""Bytes of a Kafka log: record batches, the records in them, and how two logs are compared.

``batch``: Record batches, format 2 (KIP-98), as bytes: walk, check, restamp
``codec``: The records inside a batch: decode, cut, encode
``compare``: The walk through two streams of fingerprints; what it looks for is said in
    ``compare``
``comparison_result``: Compare what a partition holds on the source with what its copy holds on
    the target
``compression``: Compression of record batches, by the codes that stand in a batch's attributes
``content_search``: Find records by what is in them, where offsets no longer tell
``control_batches``: Markers: the control batches with which a transaction ends in each of its
    partitions

May import: the ground (``model``, ``durations``, ``errors``). Pure.
"""
