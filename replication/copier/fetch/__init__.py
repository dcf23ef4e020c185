"""Which broker is asked for what, how fast, into which memory; what its responses mean.

``buffer_pool``: The bounded pool of a unit's fetch buffers: while a slow target holds all, nothing
    is fetched
``damaged_batch``: Find out whether a batch of the source can be read, and from which offset on the
    log can be
``fetch_request``: The incremental Fetch request to one broker: entries that its session lacks
``fetch_response``: Handle a Fetch response per partition: queue batches, errors, leader changes,
    divergence
``fetcher``: The fetch loop of one source broker: the next Fetch waits for a buffer that the target
    freed
``fetcher_manager``: Assign partitions to fetchers: one fetcher per source broker, another for
    priority topics
``rate_backoff``: Decide how many bytes a second a unit fetches while its target throttles it
``rate_control``: Keep a unit's byte rate: its budget, and less while the target throttles
``stalled_lso``: Notice that a last stable offset does not advance: a transaction is open at the
    source
``suspect_batches``: Batches of the source that could not be read: whom to ask again before one
    counts as damaged
``throttle``: Limit a unit's fetches to ``copy.max.bytes.per.second``, priority topics first
``unclear_errors``: Ask again where a Fetch response leaves open whether a source was truncated or a
    batch damaged

May import: ``produce``, ``takeover.connections``, ``partition``, ``spec`` and what is below
``copier``.
"""
