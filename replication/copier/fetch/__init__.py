"""Which broker is asked for what, how fast, into which memory; what its responses mean.

``buffer_pool``: Pool of a unit's fetch buffers, which bounds the memory for fetched batches
``fetch_request``: The incremental Fetch request to one broker: entries that its session lacks
``fetch_response``: Handle a Fetch response per partition: queue batches, errors, leader changes,
    divergence
``fetcher``: The fetch loop of one source broker, which hands fetched batches to their partitions
``fetcher_manager``: Assign partitions to fetchers: one fetcher per source broker, another for
    priority topics
``throttle``: Limit a unit's fetches: bytes per second, priority topics first, small responses

May import: ``replication.copier.partition`` and what is below ``replication.copier``.
"""
