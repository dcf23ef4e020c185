"""Verbs about running flows.

``accepted_clusters``: Stores that the clusters which a flow's addresses lead to now are the right
    ones
``compare``: ``isthmus compare``: compares every record of the source with its copy on the target
``compare_remarks``: What ``isthmus compare`` says of a topic beside its differences: what is
    missing, or told apart
``compare_report``: Formats the result of ``isthmus compare`` as a table, a verdict and JSON
``heartbeats``: ``isthmus heartbeats``: shows the age of each flow's newest heartbeat, on every
    target
``intents``: ``isthmus pause``, ``resume`` and ``stop``: set the desired state of flows
``resolve``: ``isthmus resolve`` and ``losses``: halted partitions, and offsets that were not
    copied
``status``: ``isthmus status``: shows state, lag and throughput of every flow, from the target's
    records
``table``: Formats the table of flows of ``isthmus status`` and ``isthmus run``

May import: ``orchestration.flows``.
"""
