"""What command and Dagster do with flows: observe, compare, pause, restart.

``batch_run``: Carries out a run of a batch flow: starts its driver, watches it, and says what it
    copied
``cluster_overview``: What each cluster says of itself: version, brokers, controller, clock
``comparison``: Runs of ``isthmus compare``: compares all records each time, in the command's own
    process
``group_rows``: Group offsets as rows: compared, exported and imported as JSON or CSV
``intents``: Writes a flow's desired state (run, pause, stop), which supervisor and driver follow
``kafka_clients``: Kafka clients of a configuration's clusters, created once per process and reused
``names``: Refuses a name that exists nowhere, and says which ones are near
``observation``: Looks at one flow: what its clusters and this host say of it at one moment
``older_settings``: Which drivers still run with older settings than the file has now, to tell who
    reads it
``plans``: The plans of a file's targets, read from the clusters; those that do not answer are
    problems
``reachability``: Which clusters of a file answer: all are asked at once, before a command asks
    anything else
``restart``: Restarts a flow: it is stopped cleanly, and runs again with the file as it is now
``status_view``: Collects the data of ``isthmus status``: health, rates and lag of all flows
``target_offsets``: Says which offsets of groups can be set on the target, and why others are left
``transform_preview``: Shows what a transform makes of real records, by a job in a process of its
    own
``unknown_ends``: Says why a cluster tells no end of a partition

May import: ``orchestration.services`` and ``replication``.
"""
