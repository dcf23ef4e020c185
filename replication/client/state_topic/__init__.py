"""One of Isthmus' own topics, over the connections of a unit: what it holds, and what is appended.

``read_committed``: Buffers records of open transactions until their markers arrive (read_committed)
``state_appender``: Appends to a single-partition state topic, as an idempotent producer if it has
    an id
``state_log``: Reads and appends a single-partition state topic over the unit's own connections

May import: ``error_codes``, ``fetch_session``, ``fetch_values``, ``network``, ``producer_identity``
and what is below ``client``.
"""
