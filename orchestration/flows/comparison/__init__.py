"""Compares what flows copied with their sources, record by record. For ``isthmus compare``.

In the command's own process, and once; ``orchestration.verification`` compares by Spark jobs,
continues where it was, and remembers what it found.

``compared_partition``: One partition that is compared, and the result
``compared_span``: From which offsets on two logs are compared, and what stands before them
``comparison_verdict``: The verdict on all partitions: equal, empty, different, or nothing compared
``copy_positions``: What a flow's state on the target says about partitions that are compared
``flow_comparison``: Compares what one flow copied: its topics, up to what its anchors say, the rest
    in flight
``own_records``: Selects the records that a flow copied, where several flows write to one topic
``partition_records``: The records of one partition that are compared with their copies, and their
    fingerprints
``topic_comparison``: Compares topics of two clusters, partition by partition, record by record

May import: ``unknown_ends`` and ``replication``.
"""
