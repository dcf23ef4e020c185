"""Verbs that start and stop things on this machine.

``demo``: ``isthmus demo``: starts clusters, producers and flows on this machine; for ``make run``
``dev``: ``isthmus dev``: starts and stops Kafka clusters on this machine, for tests by operators
``live``: The screen of ``isthmus run``: one line per stage, then the table of flows
``run``: ``isthmus run`` and ``down``: starts Dagster and a file's flows with a live table; stops
    all
``smoke``: ``isthmus smoke``: kills processes while records are copied, then compares every record

May import: ``orchestration.cli.flows``.
"""
