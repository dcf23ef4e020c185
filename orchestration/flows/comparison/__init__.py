"""Runs of ``isthmus compare``: compares all records each time, in the command's own process.

``orchestration.verification`` has Spark compare the ranges copied since the last good run.

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
