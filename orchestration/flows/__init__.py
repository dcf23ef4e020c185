"""Flows as a person asks about them: observed, compared, paused. For command and Dagster.

``clusters``: Kafka clients of a configuration's clusters, created once per process and reused
``compared_partition``: One partition that is compared, and the result
``compared_span``: From which offsets on two logs are compared, and what stands before them
``comparison``: Compares topics of two clusters, partition by partition, record by record
``comparison_verdict``: The verdict on all partitions: equal, empty, different, or nothing compared
``copy_positions``: What a flow's state on the target says about partitions that are compared
``flow_comparison``: Compares what one flow copied: its topics, up to what its anchors say, the rest
    in flight
``group_rows``: Group offsets as rows: compared, exported and imported as JSON or CSV
``intents``: Writes a flow's desired state (run, pause, stop), which supervisor and driver follow
``observe``: Reads a flow's desired state, driver status, anchors and end offsets from its
    clusters
``own_records``: Selects the records that a flow copied, where several flows write to one topic
``partition_records``: The records of one partition that are compared with their copies, and their
    fingerprints
``status_view``: Collects the data of ``isthmus status``: health, rates and lag of all flows

May import: ``orchestration.services``.
"""
