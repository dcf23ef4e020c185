"""Flows as a person asks about them: observed, compared, paused. For command and Dagster.

``answers``: Which clusters of a file answer: all are asked at once, before a command asks anything
    else
``clusters``: Kafka clients of a configuration's clusters, created once per process and reused
``comparison``: Compares topics of two clusters, partition by partition, record by record
``group_rows``: Group offsets as rows: compared, exported and imported as JSON or CSV
``intents``: Writes a flow's desired state (run, pause, stop), which supervisor and driver follow
``names``: Refuses a name that exists nowhere, and says which ones are near
``observe``: Reads a flow's desired state, driver status, anchors and end offsets from its
    clusters
``own_records``: Selects the records that a flow copied, where several flows write to one topic
``plans``: The plans of a file's targets, read from the clusters; those that do not answer are
    problems
``status_view``: Collects the data of ``isthmus status``: health, rates and lag of all flows

May import: ``orchestration.services``.
"""
