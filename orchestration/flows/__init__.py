"""Flows as a person asks about them: observed, compared, paused. For command and Dagster.

``answers``: Which clusters of a file answer: all are asked at once, before a command asks anything
    else
``batch_run``: Carries out a run of a batch flow: starts its driver, watches it, and says what it
    copied
``clusters``: Kafka clients of a configuration's clusters, created once per process and reused
``cluster_overview``: What each cluster says of itself: version, brokers, controller, clock
``comparison``: Compares every record of source and target: a room of its own
``group_rows``: Group offsets as rows: compared, exported and imported as JSON or CSV
``intents``: Writes a flow's desired state (run, pause, stop), which supervisor and driver follow
``names``: Refuses a name that exists nowhere, and says which ones are near
``observation``: Looks at one flow, at what its clusters and this host say of it: a room of its own
``older_settings``: Which drivers run by other settings than a file has now: an operator who reads
    it should know
``plans``: The plans of a file's targets, read from the clusters; those that do not answer are
    problems
``restart``: Restarts a flow: it is stopped cleanly, and runs again with the file as it is now
``status_view``: Collects the data of ``isthmus status``: health, rates and lag of all flows
``target_offsets``: Says which offsets of groups can be set on the target, and why others are left
``transform_preview``: Shows what a transform makes of real records, by a job in a process of its
    own

May import: ``orchestration.services``.
"""
