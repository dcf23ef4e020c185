"""Fetching.

Which broker is asked for what, how fast, into which memory, and what its answers mean.

``buffer_pool``: The memory of a unit: buffers that answers of the source are received into
``fetch_request``: What one broker shall fetch for us, and what of that it has been told in our
    session
``fetch_response``: What an answer of a source broker says of each lane, and what fetchers of a
    unit share
``fetcher``: Fetch from one source broker, into reused buffers, and hand batches to their lanes
``fetcher_manager``: The fetchers of a unit: which lane is read from which source broker
``throttle``: How fast a unit fetches: its byte budget, its small answers, and what goes before
    what

May import: ``replication.copier.partition`` and what is below ``replication.copier``.
"""
