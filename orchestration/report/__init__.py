"""A page about a file's flows for people who do not run them: what ``isthmus report`` writes.

``event_log``: Reads what Dagster's history has of a flow: the observations of its stream
``flow_history``: What several looks at flows found, as series over time
``over_time``: A flow over hours and days: what was stored of it, in equal intervals of time
``page``: The page: one HTML file that needs no other file
``pictures``: Pictures of the page in SVG: topology, lines over time, a heat map, states

Nothing here asks a cluster.

May import: ``orchestration.flows``, ``orchestration.services`` and ``replication``. Dagster is
imported for its history alone.
"""
