"""Spark's side of a verification: bounded jobs whose tasks compare offset ranges.

``range_task``: Compares ranges in a Spark task
``verification_job``: Compares ranges with Spark: ``python -m
    spark_jobs.verification.verification_job REQUEST``
``transformed_job``: Compares what a transform wrote with what it should have: ``python -m …
    REQUEST``
``transformed_query``: What a transform should have written beside what it wrote, as one query of
    Spark
``result_rows``: Rows of what a transform should have written, and of what it wrote, for Spark to
    match
``content_match``: Matches what a transform should have written with what it wrote, by content and
    by order
``found_records``: Names what is wrong with records that were not matched
``repeatable``: Says whether a transform makes the same of a record whenever it is asked

May import: ``spark_jobs.transform``, ``spark_jobs.process`` and ``replication``.
"""
