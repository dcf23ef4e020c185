"""Flows as a person asks about them: observed, compared, paused. For command and Dagster.

``clusters``: Kafka clients of a configuration's clusters, created once per process and reused
``comparison``: Compares topics of two clusters, partition by partition, record by record
``group_rows``: Group offsets as rows: compared, exported and imported as JSON or CSV
``intents``: Writes a flow's desired state (run, pause, stop), which supervisor and driver follow
``observe``: Reads a flow's desired state, driver status, anchors and end offsets from its
    clusters
``own_records``: Selects the records that a flow copied, where several flows write to one topic
``status_view``: Collects the data of ``isthmus status``: health, rates and lag of all flows
``target_offsets``: Says which offsets of groups can be set on the target, and why others are left

May import: ``orchestration.services``.
"""
