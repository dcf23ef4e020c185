"""Verbs about running flows.

``compare``: ``isthmus compare``: compares every record of the source with its copy on the target
``compare_report``: What a comparison found, for people and for programs
``heartbeats``: ``isthmus heartbeats``: how old the newest heartbeat of each pair is, on every
    target
``intents``: ``isthmus pause``, ``resume`` and ``stop``: set the desired state of flows
``resolve``: ``isthmus resolve`` and ``losses``: what waits for an answer, and what was passed
    over
``status``: ``isthmus status``: what every flow is doing, from the target's own records
``table``: The table of ``isthmus status`` and ``isthmus run``

May import: ``orchestration.flows``.
"""
