"""Bounded jobs that write records of a cluster to files.

``record_reader``: Reads given offsets of one partition, in a task
``tail_export``: Writes records of given offsets to Parquet and to JSON lines:
    ``python -m spark_jobs.export.tail_export``

May import: ``process`` and ``replication``.
"""
