"""The commands that start or show what runs on this machine: run, batch, backfill, demo, logs.

``backfill``: ``isthmus backfill``: copies the history of topics that a stream began to copy later
``batch``: ``isthmus batch``: runs the batch flows of a file once, without Dagster
``demo``: ``isthmus demo``: starts clusters, producers and flows on this machine; for ``make run``
``dev``: ``isthmus dev``: starts and stops Kafka clusters on this machine, for tests by operators
``live``: The screen of ``isthmus run``: one line per stage, then the table of flows
``logs``: ``isthmus logs``: shows the newest lines of the logs on this machine, and follows them
``report``: ``isthmus report``: writes one HTML page about the flows, for people who do not run them
``run``: ``isthmus run`` and ``down``: starts Dagster and a file's flows with a live table; stops
    all
``smoke``: ``isthmus smoke``: kills processes while records are copied, then compares every record

May import: ``orchestration.cli.flows``, ``orchestration.cli.screen``, ``orchestration.demo``,
``orchestration.alerts``, ``orchestration.backfill``, ``orchestration.report``,
``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
