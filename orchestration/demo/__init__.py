"""The demo and the smoke run: clusters on this machine, events, faults, a verdict.

``demo_clusters``: Starts and stops the demo's Kafka clusters and event producers on this machine
``enriched_files``: Brings the hybrid example's enriched topics to Parquet, each record once
``event_producer``: Produces a web shop's events for the demo: ``python -m
    orchestration.demo.event_producer``
``failover_round``: The smoke test of a disaster: a cluster is lost, clients move, it returns, they
    move back
``hybrid_assets``: The hybrid example's own Dagster definitions: enriched orders as Parquet,
    downstream of a flow
``hybrid_round``: The smoke test of the hybrid example: merged, enriched into a further topic, and
    to Parquet
``local_logins``: How Isthmus logs in at clusters on this machine, and what it may do there
``scenarios``: The replication topologies of demo and smoke: clusters, flows, writers
``shop_events``: Generates the events of a fictional web shop for the demo
``smoke``: The smoke test: kills a worker and a driver during copying, then compares every record
``smoke_verdict``: Compares all records of a scenario on every cluster, and counts losses and
    repeats

May import: ``orchestration.failback``, ``orchestration.recovery``, ``orchestration.flows``,
``orchestration.services`` and ``replication``.
"""
