"""The demo and the smoke run: clusters on this machine, events, faults, a verdict.

``demo_clusters``: The demo: clusters on this machine, a stream of orders into some of them, flows
    between them
``event_producer``: Keeps a web shop's events flowing into a cluster: ``python -m
    orchestration.demo.event_producer``
``scenarios``: The shapes of replication that demo and smoke play with real clusters on this
    machine
``shop_events``: A made-up web shop, whose events are what the demo copies
``smoke``: The smoke: records flow while kill -9 hits; then every record is compared
``smoke_verdict``: What became of all records of a scenario, told by comparing each of them where
    it should be

May import: ``orchestration.flows``, ``orchestration.services``.
"""
