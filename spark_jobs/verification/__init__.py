"""Bounded jobs that verify what a flow copied or transformed. For ``isthmus verify``.

``range_task``: Compares the ranges of one Spark task
``verification_job``: Compares ranges, by ``python -m`` or in the session of its caller
``transformed_job``: Compares what a transform wrote with what it should have, by ``python -m``
``transformed_query``: That comparison as one query of Spark
``result_rows``: The tasks that make its rows: by the flow's own transform, and from the target
``content_match``: Matches them by content and by order
``found_records``: Names what is wrong with records that were not matched
``repeatable``: Says whether a transform makes the same of a record whenever it is asked

May import: ``transform``, ``process`` and ``replication``.
"""
